from __future__ import annotations

import math

from bench.prior.play import Outcome
from bench.prior.table import NOTHING, Change, markdown, paired_change, summarise


def outcome(known: str, seed: int, *, regret_pct: float = 0.5, to_good: int | None = 3, over: int = 0) -> Outcome:
    return Outcome("suite", "server", seed, known, regret_pct, to_good, trials=5, trials_over=over)


def test_a_change_is_paired_with_its_standard_error() -> None:
    assert paired_change([2.0, 4.0], [1.0, 1.0]) == Change(2.0, 1.0)


def test_each_row_stands_beside_the_same_searches_without_a_class() -> None:
    without = [outcome(NOTHING, seed) for seed in range(2)]
    wrong = [outcome("wrong", 0, regret_pct=2.5, to_good=None, over=1), outcome("wrong", 1)]
    first, second = summarise([*without, *wrong])
    assert first.regret_change == Change(0.0, 0.0)
    assert (second.good, second.over, second.to_good) == (0.5, 0.1, math.inf)
    assert second.regret_change == Change(1.0, 1.0)
    assert second.over_change == Change(0.5, 0.5)
    table = markdown([first, second])
    assert "| suite | wrong | 2 | 5.00 | never | 50% | 10.0% | 1.50 / 2.5 | +1.00 ± 1.00 |" in table
