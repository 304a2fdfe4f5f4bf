from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.model.synthetic import published_cells, settings

from bayop.model import published
from bayop.model.published import Parameters

parameters = st.builds(
    Parameters,
    zeta=st.floats(1.0, 5000.0),
    alpha=st.floats(-0.99, 3.0),
    phi=st.floats(0.1, 3.0),
    gamma=st.floats(-20.0, -5.0),
    beta=st.floats(0.0, 3.0),
)


class TestEquations:
    @given(parameters)
    def test_everything_is_positive_and_grows_with_the_delay(self, model: Parameters) -> None:
        at = settings()
        latency, energy = model.latency_us(at), model.energy_per_interrupt_j(at)
        assert (latency > 0.0).all()
        assert (energy > 0.0).all()
        by_delay = np.lexsort((at.delay_us, at.freq_ghz, at.qps))
        longer = np.diff(at.delay_us[by_delay]) > 0.0
        assert (np.diff(latency[by_delay])[longer] > 0.0).all()
        assert (np.diff(energy[by_delay])[longer] > 0.0).all()

    @given(parameters)
    def test_a_faster_core_is_no_slower_and_draws_no_less(self, model: Parameters) -> None:
        at = settings()
        by_frequency = np.lexsort((at.freq_ghz, at.delay_us, at.qps))
        faster = np.diff(at.freq_ghz[by_frequency]) > 0.0
        assert (np.diff(model.latency_us(at)[by_frequency])[faster] <= 0.0).all()
        assert (np.diff(model.energy_per_interrupt_j(at)[by_frequency])[faster] >= 0.0).all()

    @given(st.floats(2.0, 7.0), st.floats(-1.0, 2.0), st.floats(-1.0, 1.0))
    def test_the_gradients_are_those_of_finite_differences(self, log_zeta: float, alpha: float, log_phi: float) -> None:
        cells = published_cells()
        theta = np.array([log_zeta, alpha, log_phi])
        step = 1e-6
        for i, column in enumerate(published.latency_jacobian(theta, cells).T):
            move = step * np.eye(3)[i]
            ahead, behind = (published.latency_residuals(theta + sign * move, cells) for sign in (1.0, -1.0))
            np.testing.assert_allclose(column, (ahead - behind) / (2.0 * step), rtol=1e-5, atol=1e-6)
        energy = published.energy_jacobian(cells)
        for i, column in enumerate(energy.T):
            differences = published.energy_residuals(np.eye(2)[i], 1.0, cells)
            differences = differences - published.energy_residuals(np.zeros(2), 1.0, cells)
            np.testing.assert_allclose(column, differences, atol=1e-9)
