from __future__ import annotations

import numpy as np
import pytest

from bayop.optimize.grey_box.inputs import Array, Inputs
from bayop.optimize.grey_box.kernel import ResidualKernel
from bayop.optimize.grey_box.mixture import Mixture, Moments
from bayop.optimize.grey_box.model import Data, Linearisation, Posterior, Scales

DRAWS = 400_000


def moments(*members: tuple[float, float, float], covariance: float = 0.0) -> Moments:
    """Of one output at one point, from (weight, mean, sd) of each hypothesis."""
    weight, mean, sd = np.array(members).T
    shape = (len(members), 1, 1)
    between = np.full(shape, covariance)
    return Moments(weight, mean.reshape(shape), sd.reshape(shape) ** 2, between, mean.reshape(shape))


def drawn(rng: np.random.Generator, members: tuple[tuple[float, float, float], ...]) -> tuple[Array, Array, Array]:
    """What hypothesis each draw is of (its mean and sd), and the draw."""
    weight, mean, sd = np.array(members).T
    which = rng.choice(len(members), DRAWS, p=weight)
    return mean[which], sd[which], rng.normal(mean[which], sd[which])


TWO = ((0.7, 6.1, 0.1), (0.3, 6.3, 0.3))


def test_the_probability_below_a_limit_counts_the_draws_of_all_hypotheses() -> None:
    _, _, draws = drawn(np.random.default_rng(2), TWO)
    assert moments(*TWO).below({0: 6.2})[0] == pytest.approx((draws < 6.2).mean(), abs=0.005)


def test_no_hypothesis_may_be_less_sure_than_it_is_asked_to_be() -> None:
    unsure = moments((1.0, 7.0, 5.0))
    assert unsure.below({0: 6.0})[0] > 0.4
    assert unsure.below({0: 6.0}, at_most_sd=0.2)[0] < 1e-5


def test_mean_and_variance_are_those_of_the_draws() -> None:
    _, _, draws = drawn(np.random.default_rng(3), TWO)
    both = moments(*TWO)
    assert both.mean_all[0, 0] == pytest.approx(draws.mean(), abs=0.002)
    assert both.variance_all[0, 0] == pytest.approx(draws.var(), rel=0.02)


def test_the_covariance_with_the_same_quantity_is_its_variance() -> None:
    same = moments((0.7, 6.1, 0.2), (0.3, 6.3, 0.2), covariance=0.04)
    assert same.covariance_all[0, 0] == pytest.approx(same.variance_all[0, 0])


def test_trust_after_one_more_trial_is_what_simulated_trials_show() -> None:
    noise, limit, confidence = 0.02, 6.2, 0.9
    rng = np.random.default_rng(4)
    mean, sd, truth = drawn(rng, TWO)
    observations = rng.normal(truth, noise)
    after_mean = (mean / sd**2 + observations / noise**2) / (1 / sd**2 + 1 / noise**2)
    after_sd = (1 / sd**2 + 1 / noise**2) ** -0.5
    # The 90 % quantile of a standard Gaussian is 1.2816.
    trusted = (limit - after_mean) / after_sd >= 1.2816
    assert moments(*TWO).trusted({0: limit}, [noise], confidence)[0] == pytest.approx(trusted.mean(), abs=0.005)


def test_a_setting_that_meets_the_slo_by_a_hair_can_hardly_be_trusted() -> None:
    hair, room = (moments((1.0, mean, 0.02)).trusted({0: 6.2}, [0.02], 0.9)[0] for mean in (6.19, 6.0))
    assert hair < 0.5 < room


class Constant:
    """One output that is its only parameter."""

    mean = np.array([0.0])
    sd = np.array([1.0])

    def jacobian(self, theta: Array, at: Inputs) -> tuple[Array, Array]:
        return np.full((1, len(at)), theta[0]), np.ones((1, len(at), 1))


def points(x: Array) -> Inputs:
    ones = np.ones_like(x)
    return Inputs(x, ones, ones, 0.0 * x, np.column_stack([x, x]), np.empty((len(x), 0)))


def mixture(*weights: float, least: float = 0.0) -> Mixture:
    x = np.array([0.0, 0.3, 0.6])
    index = np.arange(3)
    data = Data(points(x), index, 0 * index, np.array([0.1, 0.5, 0.2]), np.full(3, 0.1), np.zeros(3, dtype=np.bool_))
    linearisation = Linearisation(Constant(), [ResidualKernel(0.2, 0.0)], data)
    scales = [Scales((1.0,), (4.0**i,)) for i in range(len(weights))]
    return Mixture([(Posterior(linearisation, s), w) for s, w in zip(scales, weights, strict=True)], least=least)


def test_weights_count_in_proportion_and_the_unlikely_is_left_out() -> None:
    assert mixture(3.0, 1.0).noise_scale(0) == pytest.approx(0.75 * 1.0 + 0.25 * 4.0)
    assert mixture(99.0, 1.0, least=0.02).noise_scale(0) == 1.0


def test_each_hypothesis_expects_what_it_does_alone() -> None:
    at, against = points(np.array([0.1, 2.0])), points(np.array([0.5]))
    both = mixture(3.0, 1.0).predict(at, [0], against)
    alone = mixture(1.0).predict(at, [0], against)
    assert both.mean.shape == both.variance.shape == both.covariance.shape == (2, 1, 2)
    assert both.reference.shape == (2, 1, 1)
    assert both.weight.tolist() == [0.75, 0.25]
    for of_both, of_one in zip(
        (both.mean, both.variance, both.covariance, both.reference),
        (alone.mean, alone.variance, alone.covariance, alone.reference),
        strict=True,
    ):
        assert np.allclose(of_both[0], of_one[0])
        assert not np.allclose(of_both[1], of_one[0])


def test_without_another_point_there_is_no_covariance() -> None:
    alone = mixture(1.0).predict(points(np.array([0.1])), [0])
    assert not alone.covariance.any()


def test_knows_what_was_observed() -> None:
    assert mixture(1.0).has_seen(0)


def test_all_limits_are_kept_with_the_product_of_each_hypothesis() -> None:
    weight, mean = np.array([0.7, 0.3]), np.array([[[6.1], [5.0]], [[6.3], [5.4]]])
    two = Moments(weight, mean, np.full((2, 2, 1), 0.04), np.zeros((2, 2, 1)), np.zeros((2, 2, 1)))
    rng = np.random.default_rng(5)
    which = rng.choice(2, DRAWS, p=weight)
    draws = rng.normal(mean[which, :, 0], 0.2)
    kept = (draws < [6.2, 5.1]).all(axis=1).mean()
    assert two.below({0: 6.2, 1: 5.1})[0] == pytest.approx(kept, abs=0.005)
    alone = [two.trusted({o: limit}, [0.02, 0.02], 0.9)[0] for o, limit in ((0, 6.2), (1, 5.1))]
    assert two.trusted({0: 6.2, 1: 5.1}, [0.02, 0.02], 0.9)[0] < min(alone)
