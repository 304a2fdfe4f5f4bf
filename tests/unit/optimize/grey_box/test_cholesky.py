from __future__ import annotations

import numpy as np
import pytest

from bayop.optimize.grey_box.cholesky import Cholesky

ROOT = np.random.default_rng(0).normal(size=(4, 6))
COVARIANCE = ROOT @ ROOT.T
ROWS = np.random.default_rng(1).normal(size=(3, 4))


def test_solving_undoes_the_covariance() -> None:
    factor = Cholesky(COVARIANCE)
    assert np.allclose(COVARIANCE @ factor.solve(ROWS.T), ROWS.T)
    assert np.allclose(COVARIANCE @ factor.solve(ROWS[0]), ROWS[0])


def test_white_rows_multiply_as_with_the_inverse() -> None:
    white = Cholesky(COVARIANCE).whiten(ROWS)
    assert np.allclose(white @ white.T, ROWS @ np.linalg.inv(COVARIANCE) @ ROWS.T)


def test_the_determinant_is_that_of_the_covariance() -> None:
    assert Cholesky(COVARIANCE).log_determinant == pytest.approx(np.linalg.slogdet(COVARIANCE).logabsdet)


def test_what_is_no_covariance_has_no_factor() -> None:
    with pytest.raises(np.linalg.LinAlgError, match="minor 2 of a covariance"):
        Cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]))
