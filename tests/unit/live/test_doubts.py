from __future__ import annotations

import pytest

from bayop.live.doubts import foreign_work, other_load, unsteady_work


@pytest.mark.parametrize("busy", [None, 0.0, 0.1])
def test_a_machine_at_rest_is_trusted(busy: float | None) -> None:
    assert foreign_work(busy) == []


def test_a_machine_that_is_busy_before_the_load_is_not() -> None:
    assert foreign_work(0.42)[0].startswith("the machine was 42% busy with other work before the load began")


def test_windows_of_one_setting_are_alike_or_doubtful() -> None:
    assert unsteady_work([0.50, 0.51, 0.49, 0.50, 0.95]) == [], "one burst is what the interval is for"
    assert unsteady_work([0.2, 0.9, 0.5]) == [], "too few to tell"
    assert unsteady_work([0.2, 0.9, 0.5, 0.7])[0].startswith("the machine was 20% to 90% busy")


@pytest.mark.parametrize(
    ("qps", "doubtful"), [(None, False), (104e3, False), (96e3, False), (106e3, True), (8e3, True)]
)
def test_another_load_than_the_stated_one_is_said(qps: float | None, doubtful: bool) -> None:  # noqa: FBT001
    assert bool(other_load(qps, 100e3)) == doubtful


def test_both_loads_are_named() -> None:
    assert "is 8,000 requests/s, not the stated 100,000" in other_load(8e3, 100e3)[0]
