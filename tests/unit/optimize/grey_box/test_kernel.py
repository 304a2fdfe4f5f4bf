from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayop.optimize.grey_box.inputs import Inputs
from bayop.optimize.grey_box.kernel import Correlations, ResidualKernel

KERNEL = ResidualKernel(known_sd=0.1, unknown_sd=0.5)


def inputs(seed: int, n: int, unknown: int) -> Inputs:
    rng = np.random.default_rng(seed)
    load = rng.normal(0, 0.5, n)
    known, others = rng.random((n, 2)), rng.random((n, unknown))
    return Inputs(rng.random(n), rng.random(n), np.ones(n), load, known, others, np.full(unknown, 0.5))


@given(seed=st.integers(0, 10_000), n=st.integers(1, 12), unknown=st.integers(0, 3), explained=st.booleans())
def test_is_a_covariance(seed: int, n: int, unknown: int, *, explained: bool) -> None:
    at, kernel = inputs(seed, n, unknown), replace(KERNEL, explained=explained)
    for covariance, variance in zip(kernel(Correlations.between(at, at)), kernel.variance(at), strict=True):
        assert np.allclose(covariance, covariance.T)
        assert np.linalg.eigvalsh(covariance).min() > -1e-9
        assert np.allclose(np.diag(covariance), variance)


def test_what_a_prior_explains_leaves_little_behind() -> None:
    far = replace(inputs(0, 1, 1), unknown=np.full((1, 1), 100.0))
    assert KERNEL.variance(inputs(0, 1, 0))[:, 0].tolist() == pytest.approx([0.01, 0.0])
    assert KERNEL.variance(far)[:, 0].tolist() == pytest.approx([0.01, 2 * 0.5**2])
    alone = replace(KERNEL, explained=False)
    assert alone.variance(far)[:, 0].tolist() == pytest.approx([0.01 + 0.5**2, 0.0]), (
        "all of it is as large as is learned"
    )


def test_what_the_formulas_do_not_know_changes_nothing_at_the_fastest_setting() -> None:
    at = inputs(3, 4, 2)
    fastest = replace(at, unknown=np.full((4, 2), 0.5))
    assert np.allclose(KERNEL.variance(fastest)[1], 0.0)
    assert np.allclose(KERNEL(Correlations.between(at, fastest))[1], 0.0)


def test_loads_far_apart_share_little() -> None:
    none, same = np.zeros(2), np.zeros((2, 2))
    near = Inputs(none, none, np.ones(2), np.array([0.0, 0.1]), same, np.zeros((2, 0)))
    far = Inputs(none, none, np.ones(2), np.array([0.0, 2.0]), same, np.zeros((2, 0)))
    shared = [KERNEL(Correlations.between(at, at))[0, 0, 1] for at in (near, far)]
    assert shared[0] > 0.9 * 0.01 > 0.1 * 0.01 > shared[1]


@pytest.mark.parametrize("unknown", [0, 2])
def test_some_of_the_points_are_as_alike_as_before(unknown: int) -> None:
    left, right, some = inputs(1, 4, unknown), inputs(2, 5, unknown), np.array([3, 3, 0])
    all_ = KERNEL(Correlations.between(left, right))
    assert np.array_equal(KERNEL(Correlations.between(left, right).columns(some)), all_[..., some])
