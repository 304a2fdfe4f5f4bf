"""What a saving's interval does, whatever was measured."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from bayop.saving import Looks

watts = st.floats(1.0, 1e4)
some_pairs = st.lists(st.tuples(watts, watts), min_size=1, max_size=24)
LOOKS = Looks(24)


@given(some_pairs)
def test_the_interval_holds_the_saving(pairs: list[tuple[float, float]]) -> None:
    saving = LOOKS.saving(pairs)
    assert saving.low <= saving.value <= saving.high


@given(some_pairs, st.randoms(use_true_random=False))
def test_the_order_of_pairs_does_not_matter(pairs: list[tuple[float, float]], random: object) -> None:
    shuffled = list(pairs)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    first, second = LOOKS.saving(pairs), LOOKS.saving(shuffled)
    assert (first.value, first.low, first.high) == (second.value, second.low, second.high)


@given(some_pairs)
def test_what_one_saves_the_other_costs(pairs: list[tuple[float, float]]) -> None:
    saving, cost = LOOKS.saving(pairs), LOOKS.saving([(b, a) for a, b in pairs])
    assert math.isclose(saving.value, -cost.value, abs_tol=1e-9)
    assert (saving.low, saving.high) == (-cost.high, -cost.low)
    assert not (saving.significant and cost.significant)


@given(some_pairs, st.floats(0.001, 1000.0))
def test_units_do_not_matter(pairs: list[tuple[float, float]], scale: float) -> None:
    saving, scaled = LOOKS.saving(pairs), LOOKS.saving([(a * scale, b * scale) for a, b in pairs])
    assert math.isclose(saving.value * scale, scaled.value, rel_tol=1e-9, abs_tol=1e-6 * scale)
    assert math.isclose(saving.share, scaled.share, rel_tol=1e-6, abs_tol=1e-9)
