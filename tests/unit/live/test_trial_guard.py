from __future__ import annotations

import pytest

from bayop.errors import InputError
from bayop.live.trial_guard import TrialGuard
from bayop.slo import Slo

GUARD = TrialGuard(Slo.parse("p99<500us"), latency_factor=3.0, load_band=0.2)


@pytest.mark.parametrize(
    ("quantities", "objection"),
    [
        ({"p99_us": 1500.0, "qps": 1000.0}, None),
        ({"p99_us": 1501.0, "qps": 1000.0}, "p99 1501 us, over 1500 us"),
        ({"p50_us": 9000.0, "qps": 1000.0}, "p50 9000 us, over 1500 us"),
        ({"p50_us": 9000.0, "p90_us": 9500.0, "p99_us": 100.0}, "p90 9500 us, over 1500 us"),
        ({"p999_us": 9000.0, "mean_us": 9000.0}, None),
        ({"p99_us": 100.0, "qps": 1200.0}, None),
        ({"p99_us": 100.0, "qps": 1201.0}, "load 1201 requests/s, not 1000"),
        ({"qps": 0.0}, "load 0 requests/s, not 1000"),
        ({"qps": 800.0, "duration_s": 0.5}, None),
        ({"qps": 622.0, "duration_s": 0.5}, None),  # 200 and four times sqrt(1000 / 0.5)
        ({"qps": 621.0, "duration_s": 0.5}, "load 621 requests/s, not 1000"),
        ({"qps": 779.0, "duration_s": 100.0}, "load 779 requests/s, not 1000"),
        ({"p99_us": 100.0}, None),
        ({}, None),
    ],
)
def test_a_trial_ends_when_clients_suffer_or_the_load_is_another(
    quantities: dict[str, float], objection: str | None
) -> None:
    assert GUARD.objection(quantities, 1000.0) == objection


def test_the_load_may_be_any() -> None:
    assert TrialGuard(GUARD.slo, load_band=None).objection({"p99_us": 100.0, "qps": 1.0}, 1000.0) is None


def test_a_slow_window_is_still_about_its_load() -> None:
    assert GUARD.load_objection({"p99_us": 1e6, "qps": 1000.0}, 1000.0) is None


@pytest.mark.parametrize(("factor", "band"), [(0.9, 0.2), (float("nan"), 0.2), (3.0, 0.0), (3.0, 1.0)])
def test_a_guard_that_guards_nothing_is_refused(factor: float, band: float) -> None:
    with pytest.raises(InputError, match="guard"):
        TrialGuard(GUARD.slo, factor, band)


def test_every_limit_is_guarded() -> None:
    guard = TrialGuard(Slo.parse("p99<500us,p50<100us"))
    assert guard.objection({"p99_us": 1400.0, "p50_us": 290.0}, 1000.0) is None
    assert guard.objection({"p99_us": 1400.0, "p50_us": 310.0}, 1000.0) == "p50 310 us, over 300 us"
    assert guard.objection({"p99_us": 1600.0, "p50_us": 310.0}, 1000.0) == "p99 1600 us, over 1500 us"
