from __future__ import annotations

from pathlib import Path
from typing import get_args

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.model.synthetic import TRUTH, published_cells, settings

from bayop.errors import InputError, UnsupportedError
from bayop.model import adam, published
from bayop.model.cells import Cells
from bayop.model.published import UNITS, Parameters
from bayop.model.published_fit import METHODS, Method, fit, random_starts
from bayop.slo import Slo

STARTS = random_starts(0)

parameters = st.builds(
    Parameters,
    zeta=st.floats(1.0, 5000.0),
    alpha=st.floats(-0.99, 3.0),
    phi=st.floats(0.1, 3.0),
    gamma=st.floats(-20.0, -5.0),
    beta=st.floats(0.0, 3.0),
)


def values(found: Parameters) -> list[float]:
    return [getattr(found, name) for name in UNITS]


def authors_cells(data: Path, os: str, qps: int) -> Cells:
    """The rows that the authors' notebook fits: first repeats without a cap that keep p99 below 500 us."""
    frame = pl.read_csv(data / "study_memcached.csv", infer_schema_length=None).filter(
        pl.col("os") == os, pl.col("qps_offered") == qps, pl.col("policy") == "static", pl.col("repeat") == 1,
        pl.col("rapl_limit_w") == 135, pl.col("p99_us") <= 500, pl.col("itr_us") != 350,
    )  # fmt: skip
    names = ("qps_offered", "itr_us", "freq_ghz", "p99_us")
    load, delay_us, freq_ghz, p99_us = (frame[name].cast(pl.Float64).to_numpy() for name in names)
    energy = (frame["energy_j"] / frame["interrupts"]).to_numpy()
    nothing = np.full(len(energy), np.nan)
    return Cells(Slo.parse("p99<501us"), load, delay_us, freq_ghz, p99_us, nothing, nothing, energy)


class TestEquations:
    @given(parameters)
    def test_everything_is_positive_and_grows_with_the_delay(self, found: Parameters) -> None:
        at = settings()
        latency, energy = found.latency_us(at), found.energy_per_interrupt_j(at)
        assert (latency > 0.0).all()
        assert (energy > 0.0).all()
        by_delay = np.lexsort((at.delay_us, at.freq_ghz, at.qps))
        longer = np.diff(at.delay_us[by_delay]) > 0.0
        assert (np.diff(latency[by_delay])[longer] > 0.0).all()
        assert (np.diff(energy[by_delay])[longer] > 0.0).all()

    @given(parameters)
    def test_a_faster_core_is_no_slower_and_draws_no_less(self, found: Parameters) -> None:
        at = settings()
        by_frequency = np.lexsort((at.freq_ghz, at.delay_us, at.qps))
        faster = np.diff(at.freq_ghz[by_frequency]) > 0.0
        assert (np.diff(found.latency_us(at)[by_frequency])[faster] <= 0.0).all()
        assert (np.diff(found.energy_per_interrupt_j(at)[by_frequency])[faster] >= 0.0).all()

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


class TestFit:
    def test_there_are_the_two_methods(self) -> None:
        assert set(METHODS) == set(get_args(Method))

    @pytest.mark.parametrize("method", METHODS)
    def test_recovers_the_parameters_of_exact_data(self, method: Method) -> None:
        if method == "adam":
            pytest.importorskip("torch")
        loads = TRUTH if method == "least-squares" else {400e3: TRUTH[400e3]}
        found = fit(published_cells(loads), STARTS, method=method)
        for load, truth in loads.items():
            np.testing.assert_allclose(values(found.by_load[load]), values(truth), rtol=1e-4)

    def test_noise_moves_them_by_their_standard_errors(self) -> None:
        scores = []
        for seed in range(12):
            found = fit(published_cells(noise=0.02, seed=seed), STARTS)
            for load, truth in TRUTH.items():
                estimates = found.parameters(load)
                scores += [(p.value - t) / p.standard_error for p, t in zip(estimates, values(truth), strict=True)]
        assert 0.8 < float(np.std(scores)) < 1.25

    def test_both_methods_find_the_same_minimum_of_real_data(self, data: Path) -> None:
        pytest.importorskip("torch")
        cells = authors_cells(data, "linux", 600_000)
        by_adam, by_squares = (fit(cells, STARTS, method=method).by_load[600e3] for method in ("adam", "least-squares"))
        np.testing.assert_allclose(values(by_adam), values(by_squares), rtol=1e-5)

    @pytest.mark.parametrize(
        ("os", "qps", "printed", "loss"),
        [
            ("ebbrt", 200_000, (55.91225, -0.965368, 0.984231), 9.505161e-05),
            ("ebbrt", 600_000, (51.72865, -1.047884, 1.035045), 6.010456e-04),
            ("linux", 200_000, (86.71081, -0.472890, 1.095038), 7.443849e-04),
        ],
    )
    def test_reproduces_what_the_authors_notebook_printed(
        self, data: Path, os: str, qps: int, printed: tuple[float, float, float], loss: float
    ) -> None:
        cells = authors_cells(data, os, qps)
        found = fit(cells, STARTS).by_load[float(qps)]
        np.testing.assert_allclose([found.zeta, found.alpha, found.phi], printed, rtol=1e-5)
        assert np.mean((found.latency_us(cells) / cells.latency_us - 1.0) ** 2) == pytest.approx(loss, rel=1e-6)

    def test_reproduces_the_authors_energy(self, data: Path) -> None:
        cells = authors_cells(data, "ebbrt", 600_000)
        found = fit(cells, STARTS).by_load[600e3]
        assert (found.gamma, found.beta) == pytest.approx((-12.8579, 0.682962), rel=1e-5)
        logs = np.log(found.energy_per_interrupt_j(cells) / cells.energy_per_interrupt_j)
        assert np.mean(logs**2) == pytest.approx(0.0022611150704, rel=1e-8)

    def test_a_new_load_gets_the_pooled_parameters(self) -> None:
        cells = published_cells()
        seen = cells.qps != 400e3
        found = fit(cells.rows(seen), STARTS)
        predicted = found.predict(cells.rows(~seen))
        np.testing.assert_allclose(predicted["p99_us"], found.pooled.latency_us(cells.rows(~seen)))

    def test_refuses_cells_that_determine_nothing(self) -> None:
        cells = published_cells({200e3: TRUTH[200e3]})
        with pytest.raises(InputError, match="two ITR-delays and two frequencies") as error:
            fit(cells.rows(cells.freq_ghz == 2.1), STARTS)
        assert error.value.place == "at 200000 requests/s"

    def test_refuses_cells_without_interrupts(self) -> None:
        cells = settings()
        with pytest.raises(InputError, match="needs interrupts_per_s"):
            fit(cells, STARTS)

    def test_says_how_to_get_adam(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(__import__("sys").modules, "torch", None)
        with pytest.raises(UnsupportedError) as error:
            adam.minimise(lambda theta: theta, (), STARTS)
        assert "bayop[torch]" in (error.value.hint or "")
