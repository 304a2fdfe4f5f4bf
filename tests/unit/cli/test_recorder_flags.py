from __future__ import annotations

import pytest

from bayop.cli.flags.recorder import cost_in_words, cost_of

COUNTED = {
    "stays": 20_000,
    "kernel_ns_per_stay": 90.5,
    "nothing_ns_per_stay": 40.0,
    "reader_ns_per_stay": 12.0,
    "core_share_at_100k_per_s": 0.00625,
}


def test_what_was_not_measured_costs_nothing_to_tell() -> None:
    assert cost_of({"stays": 20_000}, "stay", 100) == {}


@pytest.mark.parametrize(("recorded", "says_share"), [(20_000, True), (10_000, True), (9_999, False), (1, False)])
def test_a_share_of_a_core_is_told_where_enough_was_recorded(recorded: int, *, says_share: bool) -> None:
    said = cost_in_words(cost_of(COUNTED, "stay", 100), "stay", 100, recorded=recorded)
    assert said.startswith("cost: 90 ns a stay in the kernel, 40 of them for measuring, and 12 in the recorder")
    assert ("; 0.6% of a core at 100,000 stays/s, unmeasured" in said) is says_share


def test_nothing_recorded_has_no_cost_of_one() -> None:
    assert cost_in_words(cost_of(COUNTED, "stay", 100), "stay", 100, recorded=0) == "cost: no stay to spread it over"
