from __future__ import annotations

import pytest

from bayop.live.patience import LOOK_S, Patience
from bayop.measurement import Measurement

QUIET, SPOILT = Measurement({"stolen": 0.004}), Measurement({"stolen": 0.006})


def test_a_quiet_trial_counts_and_costs_nothing() -> None:
    patience = Patience(0.99, 1.0)
    assert not patience.begins_anew(QUIET, took_s=100.0)
    assert not patience.begins_anew(Measurement({}), took_s=100.0), "nobody knows what was stolen"
    assert patience.begins_anew(SPOILT, took_s=1.0)
    assert patience.doubts == ["the hypervisor took more than 0.5 % of the processors' time in a trial, measured again"]


def test_the_lower_the_quantile_the_more_may_be_stolen() -> None:
    assert not Patience(0.9, 1.0).begins_anew(Measurement({"stolen": 0.049}), took_s=1.0)
    assert Patience(0.9, 1.0).begins_anew(Measurement({"stolen": 0.051}), took_s=1.0)


def test_a_spoilt_trial_counts_once_patience_is_over() -> None:
    patience = Patience(0.99, 5.0)
    assert [patience.begins_anew(SPOILT, took_s=3.0) for _ in range(4)] == [True, True, False, False]
    said = "the hypervisor took more than 0.5 % of the processors' time in 2 trials"
    advice = "whose latency is also its doing: search when the host is quiet"
    assert patience.doubts == [f"{said}, measured again", f"{said}, {advice}"]


@pytest.mark.parametrize(("stolen", "goes_on"), [(0.006, True), (0.004, False), (None, False)])
def test_waiting_ends_when_the_processors_are_back(stolen: float | None, *, goes_on: bool) -> None:
    assert Patience(0.99, 10.0).goes_on(stolen) is goes_on


def test_waiting_ends_with_patience() -> None:
    patience, looks = Patience(0.99, 10.0), 0
    while patience.goes_on(0.006):
        looks += 1
    assert looks == 10.0 / LOOK_S - 1
    assert not patience.begins_anew(SPOILT, took_s=1.0)
