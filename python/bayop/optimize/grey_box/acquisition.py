"""Which setting is worth the next trial."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from bayop.optimize.grey_box.inputs import Array


def expected_improvement(mean: Array, sd: Array, best: float) -> Array:
    """Expected improvement over `best` of Gaussian values to be minimised (Jones, Schonlau & Welch 1998, Eq. 15)."""
    z = (best - mean) / sd
    return np.asarray(sd * (z * ndtr(z) + np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)))


def probability_below(mean: Array, sd: Array, limit: float) -> Array:
    """Probability that Gaussian values lie below `limit`."""
    return np.asarray(ndtr((limit - mean) / sd))


def probability_of_trust(mean: Array, sd: Array, limit: float, noise_sd: float, confidence: float) -> Array:
    """Probability that, after one more noisy trial, the posterior will say "below `limit`" with `confidence`.

    A trial with noise variance n shrinks the variance s to s n / (s + n) and moves the mean by a Gaussian of variance
    s - s n / (s + n). A setting that meets the SLO by a hair is not worth a trial: it could never be trusted.
    """
    after = sd * noise_sd / np.hypot(sd, noise_sd)
    move = np.sqrt(np.maximum(sd**2 - after**2, 1e-18))
    return np.asarray(ndtr((limit - float(ndtri(confidence)) * after - mean) / move))
