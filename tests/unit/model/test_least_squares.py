from __future__ import annotations

import numpy as np
import pytest

from bayop.model.cells import Array
from bayop.model.least_squares import covariance, solve


def test_the_covariance_of_a_line_is_the_textbooks() -> None:
    x = np.linspace(0.0, 1.0, 50)
    noise: Array = np.random.default_rng(1).normal(0.0, 0.1, 50)
    design = np.column_stack([np.ones(50), x])
    residuals = noise - design @ np.linalg.lstsq(design, noise, rcond=None)[0]
    matrix = covariance(residuals, design)
    slope = residuals @ residuals / 48.0 / np.sum((x - x.mean()) ** 2)
    assert matrix[1, 1] == pytest.approx(slope)


def test_a_line_is_found_from_anywhere() -> None:
    x = np.linspace(0.0, 1.0, 20)
    design = np.column_stack([np.ones(20), x])
    target = 3.0 - 2.0 * x
    for start in ([0.0, 0.0], [100.0, -50.0]):
        estimate = solve(lambda theta: design @ theta - target, lambda _: design, [np.array(start)])
        np.testing.assert_allclose(estimate, [3.0, -2.0], atol=1e-8)


def test_the_deepest_of_the_minima_that_the_starts_lead_to_is_taken() -> None:
    def residuals(theta: Array) -> Array:
        return np.array([theta[0] ** 2 - 1.0, 0.3 * (theta[0] + 1.0)])

    def jacobian(theta: Array) -> Array:
        return np.array([[2.0 * theta[0]], [0.3]])

    for starts in ([[2.0], [-2.0]], [[-2.0], [2.0]]):
        assert solve(residuals, jacobian, np.array(starts))[0] == pytest.approx(-1.0)
    assert solve(residuals, jacobian, np.array([[2.0]]))[0] > 0.9


def test_as_many_numbers_as_parameters_leave_no_degree_of_freedom() -> None:
    """The residuals then stand for one; there is no division by zero."""
    np.testing.assert_allclose(covariance(np.array([0.3, 0.4]), np.diag([1.0, 2.0])), 0.25 * np.diag([1.0, 0.25]))


def test_a_parameter_that_nothing_depends_on_does_not_spoil_the_others() -> None:
    jacobian = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    matrix = covariance(np.array([1.0, -1.0, 0.0]), jacobian)
    np.testing.assert_allclose(matrix, [[2.0 / 3.0, 0.0], [0.0, 0.0]], atol=1e-12)
