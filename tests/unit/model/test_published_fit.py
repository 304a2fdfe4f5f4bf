from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.support.needs import need
from tests.unit.model.synthetic import TRUTH, published_cells, settings

from bayop.errors import InputError
from bayop.model.cells import Cells
from bayop.model.published import UNITS, Parameters
from bayop.model.published_fit import Method, fit, random_starts
from bayop.slo import Slo

STARTS = random_starts(0)


def values(parameters: Parameters) -> list[float]:
    return [getattr(parameters, name) for name in UNITS]


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


@pytest.mark.parametrize("method", ["least-squares", pytest.param("adam", marks=pytest.mark.slow)])
def test_recovers_the_parameters_of_exact_data(method: Method) -> None:
    if method == "adam":
        need("torch")
    loads = TRUTH if method == "least-squares" else {400e3: TRUTH[400e3]}
    model = fit(published_cells(loads), STARTS, method=method)
    for load, truth in loads.items():
        np.testing.assert_allclose(values(model.by_load[load]), values(truth), rtol=1e-4)


def test_noise_moves_them_by_their_standard_errors() -> None:
    scores = []
    for seed in range(12):
        model = fit(published_cells(noise=0.02, seed=seed), STARTS)
        for load, truth in TRUTH.items():
            estimates = model.parameters(load)
            scores += [(p.value - t) / p.standard_error for p, t in zip(estimates, values(truth), strict=True)]
    assert 0.8 < float(np.std(scores)) < 1.25


@pytest.mark.slow
def test_both_methods_find_the_same_minimum_of_real_data(data: Path) -> None:
    need("torch")
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
    data: Path, os: str, qps: int, printed: tuple[float, float, float], loss: float
) -> None:
    cells = authors_cells(data, os, qps)
    parameters = fit(cells, STARTS).by_load[float(qps)]
    np.testing.assert_allclose([parameters.zeta, parameters.alpha, parameters.phi], printed, rtol=1e-5)
    assert np.mean((parameters.latency_us(cells) / cells.latency_us - 1.0) ** 2) == pytest.approx(loss, rel=1e-6)


def test_reproduces_the_authors_energy(data: Path) -> None:
    cells = authors_cells(data, "ebbrt", 600_000)
    parameters = fit(cells, STARTS).by_load[600e3]
    assert (parameters.gamma, parameters.beta) == pytest.approx((-12.8579, 0.682962), rel=1e-5)
    logs = np.log(parameters.energy_per_interrupt_j(cells) / cells.energy_per_interrupt_j)
    assert np.mean(logs**2) == pytest.approx(0.0022611150704, rel=1e-8)


def test_a_new_load_gets_the_pooled_parameters() -> None:
    cells = published_cells()
    others = cells.qps != 400e3
    model = fit(cells.rows(others), STARTS)
    predicted = model.predict(cells.rows(~others))
    np.testing.assert_allclose(predicted["p99_us"], model.pooled.latency_us(cells.rows(~others)))


def test_refuses_cells_that_determine_nothing() -> None:
    cells = published_cells({200e3: TRUTH[200e3]})
    with pytest.raises(InputError, match="two ITR-delays and two frequencies") as error:
        fit(cells.rows(cells.freq_ghz == 2.1), STARTS)
    assert error.value.place == "at 200000 requests/s"


def test_refuses_cells_without_interrupts() -> None:
    cells = settings()
    with pytest.raises(InputError, match="some cells have no interrupts_per_s"):
        fit(cells, STARTS)


def test_starts_are_from_the_authors_ranges() -> None:
    low, high = [10.0, -2.0, 1 / 3], [500.0, 2.0, 3.0]
    log_zeta, alpha, log_phi = random_starts(5, 2000).T
    sample = np.column_stack([np.exp(log_zeta), alpha, np.exp(log_phi)])
    np.testing.assert_allclose(sample.min(axis=0), low, rtol=0.02)
    np.testing.assert_allclose(sample.max(axis=0), high, rtol=0.02)
    assert random_starts(0).shape == (8, 3)
    assert random_starts(0).tolist() == random_starts(0).tolist() != random_starts(1).tolist()


def test_each_load_has_parameters_of_its_own_and_its_minimum() -> None:
    model = fit(published_cells(), STARTS)
    assert model.parameter_loads == list(TRUTH)
    truth = [[np.log(p.zeta), p.alpha, np.log(p.phi)] for p in TRUTH.values()]
    np.testing.assert_allclose(model.minima, truth, atol=1e-4)
    assert model.quantities == ("p99_us", "energy_per_interrupt_j")
    for load, cells in ((load, published_cells().rows(published_cells().qps == load)) for load in TRUTH):
        np.testing.assert_allclose(model.predict(cells)["p99_us"], cells.latency_us, rtol=1e-6)
        assert [p.value for p in model.parameters(load)] == values(model.by_load[load])


def test_parameters_carry_their_units() -> None:
    model = fit(published_cells({200e3: TRUTH[200e3]}, noise=0.01), STARTS)
    assert {p.name: p.unit for p in model.parameters(200e3)} == {
        "zeta": "us", "alpha": "", "phi": "", "gamma": "log(J/us)", "beta": "",
    }  # fmt: skip


def test_the_pooled_parameters_of_one_load_are_its_own() -> None:
    model = fit(published_cells({400e3: TRUTH[400e3]}), STARTS)
    assert model.pooled is model.by_load[400e3]
    assert [p.value for p in model.parameters(None)] == values(model.pooled)


def test_standard_errors_are_those_of_the_scale_that_is_printed() -> None:
    """Half the noise, half the error; and the error of zeta is its own and not that of its logarithm."""
    cells = {sd: published_cells({200e3: TRUTH[200e3]}, noise=sd, seed=3) for sd in (0.01, 0.02)}
    small, large = ({p.name: p for p in fit(c, STARTS).parameters(200e3)} for c in cells.values())
    for name in UNITS:
        assert large[name].standard_error == pytest.approx(2.0 * small[name].standard_error, rel=0.15)
    sample = [fit(published_cells({200e3: TRUTH[200e3]}, noise=0.01, seed=i), STARTS).pooled.zeta for i in range(30)]
    assert small["zeta"].standard_error == pytest.approx(np.std(sample), rel=0.4)
