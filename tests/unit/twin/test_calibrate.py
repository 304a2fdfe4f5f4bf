from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.support.twin_studies import write_twin_study

from bayop.errors import InputError
from bayop.twin.calibrate import GROUPS, Calibration, Sibling, checked_parameters, named_parameters, scattered
from bayop.twin.profile_library import load_profile, profile_names
from bayop.twin.validate import Cell, read_cells

TRUTH = load_profile("ebbrt-memcached")
PARAMETERS = ("app.after_response_kcycles", "machine.power.static_w", "app.network_us")


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> list[Cell]:
    path = write_twin_study(tmp_path_factory.mktemp("study") / "s.csv", TRUTH, os="ebbrt")
    return [cell for cell in read_cells(path) if not cell.is_default]


def calibration(cells: list[Cell], *, threads: int = 2) -> Calibration:
    start = scattered(TRUTH, PARAMETERS, relative_sd=0.3, seed=4)
    return Calibration(start, cells, PARAMETERS, requests=10_000, seed=1, threads=threads)


def test_a_fit_finds_what_the_server_is_made_of(cells: list[Cell]) -> None:
    fit = calibration(cells).run(sweeps=40)
    truth = checked_parameters(TRUTH, PARAMETERS)
    assert max(abs(fit.before[key] / truth[key] - 1.0) for key in PARAMETERS) > 0.15
    for key in PARAMETERS:
        assert fit.after[key] == pytest.approx(truth[key], rel=0.05), key
        assert fit.profile.values()[key] == fit.after[key]
    assert fit.cost_after < 0.05 * fit.cost_before


def test_another_application_on_the_machine_is_fitted_too(tmp_path: Path, cells: list[Cell]) -> None:
    keys = ("machine.power.static_w", "machine.power.halted_core_at_max_freq_w", "app.network_us")
    other = TRUTH.with_values({"app.request_kcycles": 40.0, "app.network_us": 55.0})
    measured = [c for c in read_cells(write_twin_study(tmp_path / "o.csv", other, os="ebbrt")) if not c.is_default]
    start, one_cell = scattered(TRUTH, keys, relative_sd=0.3, seed=4), cells[:1]
    siblings = [Sibling(other, measured)]
    fit = Calibration(start, one_cell, keys, siblings=siblings, requests=5_000, seed=1, threads=2).run(sweeps=40)
    for key, truth in checked_parameters(TRUTH, keys).items():
        # One cell can't tell static from halted power; and the other application's network is its own.
        assert fit.after[key] == pytest.approx(truth, rel=0.05), key


def test_a_fit_repeats_on_any_number_of_threads(cells: list[Cell]) -> None:
    assert calibration(cells, threads=1).run(sweeps=8) == calibration(cells, threads=3).run(sweeps=8)


def test_every_sweep_is_told(cells: list[Cell]) -> None:
    sweeps: list[None] = []
    problem = Calibration(
        TRUTH,
        cells,
        PARAMETERS,
        requests=1_000,
        seed=1,
        threads=1,
        on_simulated=lambda: sweeps.append(None),
    )
    problem.run(sweeps=8)
    assert 4 <= len(sweeps) <= 12


def test_a_budget_below_a_step_is_refused(cells: list[Cell]) -> None:
    with pytest.raises(InputError, match="3 parameters take 8 sweeps for that, and 7 may be done") as caught:
        calibration(cells).run(sweeps=7)
    assert (caught.value.place, caught.value.hint) == ("sweeps", "8 or more; a whole fit takes many steps")


def test_a_fit_that_the_budget_ends_says_so(cells: list[Cell]) -> None:
    assert not calibration(cells).run(sweeps=8).is_complete
    assert calibration(cells).run(sweeps=80).is_complete


def test_a_spread_stays_one_that_a_profile_allows(cells: list[Cell]) -> None:
    """No spread makes tails as long as these."""
    profile = TRUTH.with_values({"app.service_log_sd": 1.0, "app.service_exponential_share": 0.0})
    tails = [replace(cell, measured={**cell.measured, "p99_us": 1e6}) for cell in cells]
    fit = Calibration(profile, tails, ["app.service_log_sd"], requests=5_000, seed=1, threads=2).run(sweeps=20)
    assert 1.0 < fit.after["app.service_log_sd"] <= 2.0


def test_shares_stay_shares(cells: list[Cell]) -> None:
    profile = TRUTH.with_values({"os.wake_limit_share": 1.0})
    keys = ("os.wake_limit_share", "app.network_us")
    fit = Calibration(profile, cells, keys, requests=2_000, seed=1, threads=2).run(sweeps=6)
    assert 0.0 < fit.after["os.wake_limit_share"] <= 1.0
    far = scattered(profile, keys, relative_sd=2.0, seed=2)
    assert far.values()["os.wake_limit_share"] <= 1.0


def test_groups_name_numbers_that_every_profile_has() -> None:
    for name in profile_names():
        profile = load_profile(name)
        values = profile.values()
        keys = named_parameters(profile, list(GROUPS))
        assert set(keys) <= set(values)
        assert all(values[key] > 0.0 for key in keys)
    names = set(TRUTH.values()) | set(load_profile("linux-netpipe").values())
    assert {key for group in GROUPS.values() for key in group} <= names


def test_names_may_mix_keys_and_groups_and_overlap() -> None:
    keys = named_parameters(TRUTH, ["app.network_us", "application", "os.steer_us"])
    assert keys[0] == "app.network_us"
    assert keys[-1] == "os.steer_us"
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize(
    ("parameters", "rule", "hint"),
    [
        (["app.request_kcycle"], "dotted key", "did you mean app.request_kcycles?"),
        (["zzz"], "dotted key", "groups: application, system, exchange, interrupts, power"),
        ([], "at least one parameter", None),
        (["app.network_us", "app.network_us"], "each once", None),
        (["machine.cores"], "this one is a count", "one by one"),
    ],
)
def test_parameters_that_do_not_exist(parameters: list[str], rule: str, hint: str | None) -> None:
    with pytest.raises(InputError, match=rule) as error:
        checked_parameters(TRUTH, parameters)
    assert hint is None or hint in str(error.value.hint)


def test_a_fit_needs_cells() -> None:
    with pytest.raises(InputError, match="there is no measured cell"):
        Calibration(TRUTH, [], PARAMETERS, requests=1_000, seed=1, threads=1)


def test_every_load_weighs_the_same(cells: list[Cell]) -> None:
    """However many cells a load has, its errors count once: repeating its cells changes nothing."""

    def cost(some: list[Cell]) -> float:
        problem = Calibration(TRUTH, some, ["app.network_us"], requests=2_000, seed=1, threads=1)
        start = np.log([2.0 * TRUTH.values()["app.network_us"]])
        return float(np.sum(problem.residuals(start)[:-1] ** 2))

    least = min(cell.load for cell in cells)
    assert cost([*cells, *(cell for cell in cells if cell.load == least)]) == pytest.approx(cost(cells))
