"""What one setting saves against another, from measurements of both in pairs: a number with its interval.

Two windows that follow each other share most of what else goes on in a machine; their difference is about the two
settings. With the order of each pair drawn by lot, differences are symmetric about the saving whatever the noise is,
and Wilcoxon's signed ranks give an interval that holds its level without another assumption: bursts of foreign work
widen it, and do not move it.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, combinations_with_replacement
from statistics import median
from typing import Final

from bayop.errors import InputError

CONFIDENCE: Final = 0.95
"""Of every interval, however early a comparison ends."""

Z_95: Final = 1.96
"""So many standard deviations of a normal distribution lie between its mean and either end of a 95 % interval."""

FEWEST_PAIRS: Final = 6
"""With fewer pairs, ranks can't tell anything apart at 95 %."""

_FEWEST_TO_LOOK: Final = 8
"""With fewer pairs, ranks can't tell anything apart at the level of one look of three."""

_SHARE_OF_SAVING: Final = 0.25
_SHARE_OF_REFERENCE: Final = 0.01
_MOST_DECIMALS: Final = 3
_UNKNOWN: Final = "too few pairs for an interval"


@dataclass(frozen=True, slots=True)
class PairedSaving:
    """How much less one setting takes than the reference, in the unit of what was compared.

    Attributes:
        value: The saving: the median of the means of any two differences (Hodges and Lehmann 1963).
        low: Lower end of its 95 % confidence interval; minus infinity with too few pairs for one.
        high: Upper end.
        reference: What the reference takes: the median of its windows.
        pairs: How many pairs say so.
    """

    value: float
    low: float
    high: float
    reference: float
    pairs: int

    @property
    def significant(self) -> bool:
        """Whether something is saved for sure: the whole interval lies above 0."""
        return self.low > 0.0

    @property
    def share(self) -> float:
        """The saving as a share of what the reference takes."""
        return self.value / abs(self.reference) if self.reference else 0.0

    @property
    def is_known(self) -> bool:
        """Whether more pairs are not worth their time.

        Half of the interval is a quarter of the saving or less; or one per cent of what the reference takes, and
        nothing speaks for a saving. One that an early look finds barely significant has to stand the last one.
        """
        wide = (self.high - self.low) / 2.0
        if self.significant:
            return wide <= _SHARE_OF_SAVING * self.value
        return wide <= max(_SHARE_OF_SAVING * abs(self.value), _SHARE_OF_REFERENCE * abs(self.reference))

    def describe(self, *, unit: str | None = None, of: str = "") -> str:
        """The saving for people: `saves 4.2 W (95 % CI 3.1 to 5.3), 12.0%`, or `costs 1.2% of edp (95 % CI ...)`.

        Args:
            unit: Of the numbers; None for shares of the reference.
            of: What they are a share of, such as ` of edp`.
        """
        sign = 1.0 if self.value >= 0 else -1.0
        scale = sign if unit is not None else sign * 100.0 / abs(self.reference or 1.0)
        low, high = sorted((scale * self.low, scale * self.high))
        wide = (high - low) / 2.0
        decimals = min(max(1, -math.floor(math.log10(wide))), _MOST_DECIMALS) if 0.0 < wide < math.inf else 1
        low, high = (round(end, decimals) + 0.0 for end in (low, high))  # No "-0.0".
        interval = f"95 % CI {low:.{decimals}f} to {high:.{decimals}f}" if math.isfinite(wide) else _UNKNOWN
        amount = f"{'saves' if sign > 0 else 'costs'} {scale * self.value:.{decimals}f}"
        if unit is None:
            return f"{amount}%{of} ({interval})"
        return f"{amount} {unit} ({interval}), {abs(self.share):.1%}"


@dataclass(frozen=True, slots=True)
class Looks:
    """A comparison that may end early: when it looks at its interval, and how that keeps its level.

    Every look is another chance to be wrong. With k of them, each has the level 1 - 0.05 / k (Bonferroni), so that the
    interval covers the true saving with 95 % whenever the comparison ends.

    Attributes:
        most_pairs: The budget.

    Raises:
        InputError: a budget of fewer than `FEWEST_PAIRS` pairs.
    """

    most_pairs: int

    def __post_init__(self) -> None:
        if self.most_pairs < FEWEST_PAIRS:
            raise InputError(
                f"a comparison must have {FEWEST_PAIRS} pairs or more",
                value=self.most_pairs,
                hint="fewer can't tell a saving from noise with 95 % confidence",
            )

    @property
    def at(self) -> tuple[int, ...]:
        """The numbers of pairs after which it looks: each third of the budget that is large enough, and all of it."""
        thirds = (math.ceil(self.most_pairs * i / 3) for i in (1, 2))
        return (*(n for n in thirds if n >= _FEWEST_TO_LOOK), self.most_pairs)

    def saving(self, pairs: Sequence[tuple[float, float]]) -> PairedSaving:
        """What the second of each pair saves against the first.

        Args:
            pairs: (reference, setting), each the mean of a window; at least one pair.
        """
        return paired_saving(pairs, confidence=1.0 - (1.0 - CONFIDENCE) / len(self.at))

    def is_done(self, pairs: Sequence[tuple[float, float]]) -> bool:
        """Whether the comparison ends here: it looks and knows enough, or the budget is spent."""
        return len(pairs) >= self.most_pairs or (len(pairs) in self.at and self.saving(pairs).is_known)


def paired_saving(pairs: Sequence[tuple[float, float]], *, confidence: float = CONFIDENCE) -> PairedSaving:
    """What the second of each pair saves against the first, looked at once.

    Args:
        pairs: (reference, setting), each the mean of a window; at least one pair.
        confidence: Of the interval.
    """
    differences = [reference - setting for reference, setting in pairs]
    low, high = signed_rank_interval(differences, confidence)
    return PairedSaving(
        value=median(_walsh_averages(differences)),
        low=low,
        high=high,
        reference=median(reference for reference, _ in pairs),
        pairs=len(pairs),
    )


def signed_rank_interval(differences: Sequence[float], confidence: float) -> tuple[float, float]:
    """The confidence interval of the centre of symmetric differences, by inverting Wilcoxon's signed-rank test.

    Its ends are two of the means of any two differences (Hollander & Wolfe, Nonparametric Statistical Methods, 3.3);
    the whole line where there are too few differences for the confidence.
    """
    averages = _walsh_averages(differences)
    below = bisect_right(_rank_sum_probabilities(len(differences)), (1.0 - confidence) / 2.0)
    if below == 0:
        return -math.inf, math.inf
    return averages[below - 1], averages[-below]


def _walsh_averages(differences: Sequence[float]) -> list[float]:
    """The means of any two differences, a difference with itself among them, ascending."""
    return sorted((a + b) / 2.0 for a, b in combinations_with_replacement(differences, 2))


@cache
def _rank_sum_probabilities(n: int) -> tuple[float, ...]:
    """P(W <= w) for the sum W of those of the ranks 1 to n whose coin shows heads; w = 0, 1, ..."""
    counts = [1] + [0] * (n * (n + 1) // 2)
    for rank in range(1, n + 1):
        for total in range(len(counts) - 1, rank - 1, -1):
            counts[total] += counts[total - rank]
    return tuple(count / 2**n for count in accumulate(counts))
