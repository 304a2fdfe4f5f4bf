from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayop.papers.claims.claim import Verdict
from bayop.papers.claims.judge import (
    agrees,
    as_ratio,
    judge_at_least,
    judge_number,
    judge_range,
    judge_saving,
    reduction,
)


def test_one_measurement_has_two_numbers() -> None:
    saved = reduction(73.6, 129.74)
    assert saved == pytest.approx(0.433, abs=5e-4)
    assert as_ratio(saved) == pytest.approx(0.763, abs=5e-4)
    assert judge_saving(0.43, saved) is Verdict.REPRODUCED
    assert judge_saving(0.76, saved) is Verdict.AS_RATIO


@given(st.floats(-0.9, 0.95))
def test_a_ratio_is_at_least_its_reduction(saved: float) -> None:
    assert as_ratio(saved) >= saved - 1e-12


@pytest.mark.parametrize(
    ("printed", "measured", "verdict"),
    [
        (0.5, 0.46, Verdict.REPRODUCED),
        (0.5, 0.8, Verdict.REPRODUCED),
        (0.5, 0.33, Verdict.AS_RATIO),
        (0.5, 0.27, Verdict.PARTLY),
        (0.5, 0.1, Verdict.NOT),
        (0.5, -0.2, Verdict.NOT),
    ],
)
def test_savings_of_up_to_so_much(printed: float, measured: float, verdict: Verdict) -> None:
    assert judge_saving(printed, measured) is verdict


def test_numbers_and_factors() -> None:
    assert agrees(2.0, 2.19)
    assert not agrees(2.0, 2.3)
    assert judge_number(2.0, 1.9) is Verdict.REPRODUCED
    assert judge_number(2.0, 3.0) is Verdict.PARTLY
    assert judge_number(2.0, 5.0) is Verdict.NOT
    assert judge_at_least(2.0, 2.5) is Verdict.REPRODUCED
    assert judge_at_least(2.0, 1.6) is Verdict.PARTLY
    assert judge_at_least(2.0, 1.2) is Verdict.NOT


def test_ranges() -> None:
    assert judge_range(2.0, 6.0, 2.1, 6.3) is Verdict.REPRODUCED
    assert judge_range(2.0, 6.0, 1.9, 4.0) is Verdict.PARTLY
    assert judge_range(2.0, 6.0, 7.0, 9.0) is Verdict.NOT
