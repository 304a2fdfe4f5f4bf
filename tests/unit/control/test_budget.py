from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayop.control.budget import ErrorBudget, Spending
from bayop.errors import InputError

DAY_S = 86_400.0
BUDGET = ErrorBudget(0.001, DAY_S)


def test_a_whole_period_is_counted_by_its_requests() -> None:
    assert BUDGET.left(Spending(1e6, 250, DAY_S)) == pytest.approx(0.75)
    assert BUDGET.left(Spending(1e6, 1000, DAY_S)) == 0.0
    assert BUDGET.left(Spending(1e6, 5000, DAY_S)) == 0.0


def test_a_first_trial_is_charged_to_the_whole_period() -> None:
    """20 s in which half of the requests wait too long are 10 s of 86.4 s."""
    assert BUDGET.left(Spending(100_000, 50_000, 20)) == pytest.approx(1 - 10 / 86.4)


def test_before_anything_was_seen_all_is_left() -> None:
    assert BUDGET.left(Spending(0, 0, 0)) == 1.0


@given(st.floats(0, 1e9), st.floats(0, 1), st.floats(0, 2 * DAY_S))
def test_what_is_left_is_a_share(requests: float, share: float, seen_s: float) -> None:
    assert 0 <= BUDGET.left(Spending(requests, share * requests, seen_s)) <= 1


@pytest.mark.parametrize(("share", "period_s"), [(0, 1), (1.1, 1), (0.1, 0)])
def test_a_budget_of_nothing_is_none(share: float, period_s: float) -> None:
    with pytest.raises(InputError, match="an error budget must be a share"):
        ErrorBudget(share, period_s)
