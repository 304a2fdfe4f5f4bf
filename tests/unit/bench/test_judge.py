from __future__ import annotations

import math

from bench.judge import quantile, trials_or_never


def test_quantiles_are_values_that_were_seen() -> None:
    assert quantile([1.0, 2.0, 3.0, 4.0], 0.5) == 2.0
    assert quantile([1.0, 2.0, 3.0, 4.0], 0.9) == 4.0


def test_what_never_came_has_no_number() -> None:
    assert [trials_or_never(count) for count in (4.0, math.inf)] == ["4", "never"]
