from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from tests.support.needs import need

from bayop.errors import UnsupportedError
from bayop.model import adam
from bayop.model.published_fit import random_starts

STARTS = random_starts(0)


def test_says_how_to_get_adam(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UnsupportedError, match="PyTorch is not installed") as error:
        adam.minimise(lambda theta: theta, (), STARTS)
    assert "bayop[torch]" in (error.value.hint or "")


def bowl(theta: Any, middle: Any) -> Any:
    """Least where the first parameter is the mean of the data, and the other -1."""
    return ((theta[0] - middle) ** 2 + (theta[1] + 1.0) ** 2).mean(dim=1)


@pytest.mark.slow
def test_finds_the_least_of_a_bowl_about_its_data() -> None:
    need("torch")
    minima = adam.minimise(bowl, (np.array([2.0, 4.0]),), np.array([[0.0, 0.0], [9.0, 5.0]]), steps=300)
    np.testing.assert_allclose(minima, [3.0, -1.0], atol=1e-3)


@pytest.mark.slow
def test_the_lowest_of_several_minima_is_taken() -> None:
    need("torch")

    def two_wells(theta: Any, *_: Any) -> Any:
        # Minima near -1 and 1; the one at -1 is the lower one.
        return ((theta[0] ** 2 - 1.0) ** 2 + 0.3 * theta[0])[:, 0]

    for starts in ([[2.0], [-2.0]], [[-2.0], [2.0]]):
        assert adam.minimise(two_wells, (), np.array(starts), steps=300)[0] == pytest.approx(-1.04, abs=0.02)
    assert adam.minimise(two_wells, (), np.array([[2.0]]), steps=300)[0] == pytest.approx(0.96, abs=0.02)


@pytest.mark.slow
def test_the_best_that_it_passed_through_is_kept() -> None:
    need("torch")

    def kink(theta: Any, *_: Any) -> Any:
        return theta[0, :, 0].abs()

    # Steps of a tenth from 0.05 pass the minimum by as much: the start is as good as anything after it.
    start = np.array([[0.05]])
    assert abs(adam.minimise(kink, (), start, steps=2)[0]) <= 0.05
    assert adam.minimise(kink, (), start, steps=1)[0] == 0.05
    assert start[0, 0] == 0.05


@pytest.mark.slow
def test_it_ends_when_nothing_gets_better() -> None:
    need("torch")
    calls = 0

    def flat(theta: Any, *_: Any) -> Any:
        nonlocal calls
        calls += 1
        return 0.0 * theta[0, :, 0] + 1.0

    adam.minimise(flat, (), np.array([[0.0]]))
    assert 100 < calls < 110
