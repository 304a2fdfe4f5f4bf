from __future__ import annotations

import numpy as np
import pytest

from bayop.optimize.grey_box.acquisition import expected_improvement, probability_below, probability_of_trust

DRAWS = 400_000


@pytest.mark.parametrize(("mean", "sd"), [(1.0, 0.2), (0.9, 0.05), (1.3, 0.3)])
def test_expected_improvement_is_the_mean_of_what_is_gained(mean: float, sd: float) -> None:
    draws = np.random.default_rng(1).normal(mean, sd, DRAWS)
    expected = np.maximum(1.0 - draws, 0.0).mean()
    assert expected_improvement(np.array([mean]), np.array([sd]), 1.0)[0] == pytest.approx(expected, rel=0.02, abs=1e-5)


def test_probability_below_counts_the_draws() -> None:
    draws = np.random.default_rng(2).normal(6.1, 0.3, DRAWS)
    assert probability_below(np.array([6.1]), np.array([0.3]), 6.2)[0] == pytest.approx((draws < 6.2).mean(), abs=0.005)


def test_probability_of_trust_is_what_simulated_trials_show() -> None:
    mean, sd, noise, limit, confidence = 6.1, 0.1, 0.02, 6.2, 0.9
    rng = np.random.default_rng(3)
    truth = rng.normal(mean, sd, DRAWS)
    observations = rng.normal(truth, noise)
    after_mean = (mean / sd**2 + observations / noise**2) / (1 / sd**2 + 1 / noise**2)
    after_sd = (1 / sd**2 + 1 / noise**2) ** -0.5
    trusted = probability_below(after_mean, np.full(DRAWS, after_sd), limit) >= confidence
    got = probability_of_trust(np.array([mean]), np.array([sd]), limit, noise, confidence)
    assert got[0] == pytest.approx(trusted.mean(), abs=0.005)


def test_a_setting_that_meets_the_slo_by_a_hair_can_hardly_be_trusted() -> None:
    hair, room = np.array([6.19]), np.array([6.0])
    sd = np.array([0.02])
    assert probability_of_trust(hair, sd, 6.2, 0.02, 0.9)[0] < 0.5 < probability_of_trust(room, sd, 6.2, 0.02, 0.9)[0]
