from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import wilcoxon

from bayop.errors import InputError
from bayop.saving import Looks, signed_rank_interval

Noise = Callable[[np.random.Generator, int], NDArray[np.float64]]


def quiet(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    return rng.standard_normal(n)


def bursts(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    """Other work takes the machine for one window in ten."""
    return rng.standard_normal(n) + 30.0 * (rng.random(n) < 0.1)


def drifting(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    """Neighbouring windows share most of what goes on."""
    return np.cumsum(rng.standard_normal(n))


def compare(looks: Looks, noise: Noise, saving: float, rng: np.random.Generator) -> list[tuple[float, float]]:
    """Pairs until enough is known, each in an order drawn by lot."""
    windows = 100.0 + noise(rng, 2 * looks.most_pairs)
    pairs: list[tuple[float, float]] = []
    while not looks.is_done(pairs):
        first, second = windows[2 * len(pairs) : 2 * len(pairs) + 2]
        reference, setting = (first, second) if rng.random() < 0.5 else (second, first)
        pairs.append((reference, setting - saving))
    return pairs


@pytest.mark.parametrize("noise", [quiet, bursts, drifting])
@pytest.mark.parametrize("saving", [0.0, 1.0, 20.0])
def test_the_interval_covers_what_is_saved_whenever_the_comparison_ends(noise: Noise, saving: float) -> None:
    rng, looks = np.random.default_rng(5), Looks(24)
    results = [looks.saving(compare(looks, noise, saving, rng)) for _ in range(1500)]
    covered = np.mean([r.low <= saving <= r.high for r in results])
    # Three standard deviations of a share of 1500 that is 95 % in truth.
    assert covered > 0.95 - 3 * math.sqrt(0.95 * 0.05 / 1500)


@pytest.mark.parametrize("noise", [quiet, bursts, drifting])
def test_nothing_is_seldom_called_a_saving(noise: Noise) -> None:
    rng, looks = np.random.default_rng(6), Looks(24)
    wrong = np.mean([looks.saving(compare(looks, noise, 0.0, rng)).significant for _ in range(1500)])
    assert wrong < 0.0125 + 3 * math.sqrt(0.0125 * 0.9875 / 1500)


def test_a_large_saving_ends_the_comparison_early_and_none_does_not() -> None:
    rng, looks = np.random.default_rng(7), Looks(24)
    assert looks.at == (8, 16, 24)
    assert [len(compare(looks, quiet, 20.0, rng)) for _ in range(20)] == 20 * [8]
    assert len(compare(looks, lambda r, n: 9.0 * quiet(r, n), 0.0, rng)) == 24


def test_a_saving_that_is_barely_significant_has_to_stand_the_last_look() -> None:
    looks = Looks(24)
    pairs = [(100.0, 100.0 - saving) for saving in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)]
    assert looks.saving(pairs).significant
    assert not looks.is_done(pairs)
    assert looks.is_done([(b, a) for a, b in pairs]), "what costs that little is not kept anyway"


def test_bursts_do_not_hide_a_saving() -> None:
    rng, looks = np.random.default_rng(8), Looks(24)
    hits = [looks.saving(compare(looks, bursts, 6.0, rng)).significant for _ in range(200)]
    assert np.mean(hits) > 0.75


@pytest.mark.parametrize("n", [6, 9, 16, 24])
def test_the_interval_is_what_the_exact_test_does_not_reject(n: int) -> None:
    differences = np.random.default_rng(n).standard_normal(n) + 0.4
    low, high = signed_rank_interval(list(differences), 0.95)
    for centre in (low + 1e-6, high - 1e-6):
        assert wilcoxon(differences - centre, method="exact").pvalue > 0.05
    for centre in (low - 1e-6, high + 1e-6):
        assert wilcoxon(differences - centre, method="exact").pvalue <= 0.05


def test_with_too_few_pairs_everything_is_possible() -> None:
    assert signed_rank_interval([1.0, 1.1, 0.9], 0.95) == (-math.inf, math.inf)
    saving = Looks(6).saving([(100.0, 90.0)] * 3)
    assert (saving.value, saving.significant, saving.is_known) == (10.0, False, False)


def test_a_saving_has_a_share() -> None:
    saving = Looks(6).saving([(100.0, 88.0)] * 6)
    assert (saving.value, saving.low, saving.high, saving.pairs) == (12.0, 12.0, 12.0, 6)
    assert saving.significant
    assert saving.share == pytest.approx(0.12)


@pytest.mark.parametrize(("pairs", "at"), [(6, (6,)), (10, (10,)), (12, (8, 12)), (30, (10, 20, 30))])
def test_it_looks_at_thirds_that_can_tell_something(pairs: int, at: tuple[int, ...]) -> None:
    assert Looks(pairs).at == at


def test_a_budget_has_pairs_enough() -> None:
    with pytest.raises(InputError, match="must have 6 pairs"):
        Looks(5)


def test_a_saving_is_said_with_its_interval() -> None:
    watts = [(40.0, 40.0 - saving) for saving in (3.12, 4.0, 4.2, 4.4, 4.2, 5.32)]
    saving, cost = Looks(6).saving(watts), Looks(6).saving([(b, a) for a, b in watts])
    assert saving.describe(unit="W") == "saves 4.2 W (95 % CI 3.1 to 5.3), 10.5%"
    assert saving.describe(of=" of edp") == "saves 10.5% of edp (95 % CI 7.8 to 13.3)"
    assert cost.describe(unit="W") == "costs 4.2 W (95 % CI 3.1 to 5.3), 11.7%"
    assert Looks(6).saving(watts[:2]).describe(unit="W") == "saves 3.6 W (too few pairs for an interval), 8.9%"
    nothing = [(60.0, 60.0 + i * 1e-14) for i in (-3, 2, -1, 3, -2, 1)]
    assert Looks(6).saving(nothing).describe(unit="W") in (
        "saves 0.000 W (95 % CI 0.000 to 0.000), 0.0%",
        "costs 0.000 W (95 % CI 0.000 to 0.000), 0.0%",
    )
