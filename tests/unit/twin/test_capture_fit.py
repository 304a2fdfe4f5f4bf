from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest
from tests.support.twin_captures import QPS, SETTINGS, TRUTH, write_twin_captures

from bayop import _core
from bayop.errors import InputError
from bayop.interrupts.observe import observe
from bayop.twin.capture_fit import CaptureFit, CaptureProblem, Estimate
from bayop.twin.handlers import HandlerTimes
from bayop.twin.observed import Observed
from bayop.twin.profile_library import load_profile

LEAST = 16
"""The budget of a step of each of two searches, of which one has three parameters."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("captures")


@pytest.fixture(scope="module")
def windows(folder: Path) -> dict[str, _core.Measurement]:
    return write_twin_captures(folder)


@pytest.fixture(scope="module")
def machine(folder: Path, windows: dict[str, _core.Measurement]) -> _core.Profile:  # noqa: ARG001 -- a fixture that writes the profile
    """Where fits start: what is known of the server without a capture."""
    return load_profile(str(folder / "own.toml"))


@pytest.fixture(scope="module")
def captures(folder: Path, windows: dict[str, _core.Measurement]) -> list[Observed]:
    return [
        observe(folder / name, setting=setting, qps=QPS, power_w=windows[name]["power_w"])
        for name, setting in SETTINGS.items()
    ]


def fitted(
    machine: _core.Profile, captures: list[Observed], *, sweeps: int = 100, requests: int = 10_000, threads: int = 2
) -> CaptureFit:
    return CaptureProblem(machine, captures, sweeps=sweeps, requests=requests, seed=1, threads=threads).fit()


@pytest.fixture(scope="module")
def fit(machine: _core.Profile, captures: list[Observed]) -> CaptureFit:
    return fitted(machine, captures)


@pytest.fixture(scope="module")
def estimates(fit: CaptureFit) -> dict[str, Estimate]:
    return {estimate.key: estimate for estimate in fit.estimates}


@pytest.mark.parametrize(
    ("key", "tolerance"),
    [
        ("os.interrupt_kcycles", 0.01),
        ("os.packet_kcycles", 0.01),
        ("machine.nic.rx_usecs_tick_factor", 0.02),
        ("machine.power.static_w", 0.05),
    ],
)
def test_what_captures_tell_is_found(
    machine: _core.Profile, estimates: dict[str, Estimate], key: str, tolerance: float
) -> None:
    estimate = estimates[key]
    assert estimate.is_fitted
    assert estimate.before == machine.values()[key]
    assert abs(estimate.before / TRUTH[key] - 1.0) > 2.0 * tolerance
    assert estimate.after == pytest.approx(TRUTH[key], rel=tolerance)


def test_the_acknowledgements_are_found(estimates: dict[str, Estimate]) -> None:
    assert estimates["app.ack_share"].after == pytest.approx(TRUTH["app.ack_share"], abs=0.03)


def test_the_time_of_a_request_is_found(machine: _core.Profile, fit: CaptureFit) -> None:
    """In between the two frequencies: its two parts are hardly told apart, and their sum is."""
    ghz = 2.4
    before, truth, after = (
        numbers["app.request_kcycles"] / ghz + numbers["app.request_us"]
        for numbers in (machine.values(), {**machine.values(), **TRUTH}, {**machine.values(), **fit.values})
    )
    assert before < 0.7 * truth
    assert after == pytest.approx(truth, rel=0.08)


def test_what_captures_do_not_tell_is_assumed(machine: _core.Profile, estimates: dict[str, Estimate]) -> None:
    exponent = estimates["machine.power.frequency_exponent"]
    assert not exponent.is_fitted
    assert exponent.sd is None
    assert exponent.after == exponent.before == machine.values()[exponent.key]
    assert not estimates["os.lone_packet_kcycles"].is_fitted
    assert estimates["os.lone_packet_kcycles"].evidence == "contained in os.packet_kcycles"


def test_every_fitted_number_has_an_error_and_its_evidence(estimates: dict[str, Estimate]) -> None:
    assert "handler times of" in estimates["os.interrupt_kcycles"].evidence
    assert estimates["machine.power.static_w"].evidence == "power of 3 captures"
    for key in ("os.interrupt_kcycles", "machine.nic.rx_usecs_tick_factor", "app.ack_share", "app.request_kcycles"):
        sd = estimates[key].sd
        assert sd is not None
        assert sd > 0.0, key


def test_predictions_of_captures_that_were_left_out_are_near(fit: CaptureFit) -> None:
    held_out = [prediction for prediction in fit.predictions if prediction.held_out]
    assert [prediction.capture.setting for prediction in held_out] == list(SETTINGS.values())
    for prediction in held_out:
        errors = {name: prediction.error(name) for name in prediction.predicted}
        limits = {"interrupts_per_s": 0.03, "packets_per_interrupt": 0.05, "utilization": 0.08, "power_w": 0.05}
        for name, limit in limits.items():
            error = errors[name]
            assert error is not None
            assert abs(error) < limit, (prediction.capture.name, name)


def test_a_capture_that_was_left_out_has_no_part_in_its_prediction(
    machine: _core.Profile, captures: list[Observed]
) -> None:
    busier = [replace(captures[0], utilization=0.9), *captures[1:]]
    held_out = []
    for some in (captures, busier):
        predictions = fitted(machine, some, sweeps=LEAST, requests=1_000).predictions
        held_out.append(next(one.predicted for one in predictions if one.held_out))
    assert held_out[0] == held_out[1]


def test_a_fit_repeats_on_any_number_of_threads(machine: _core.Profile, captures: list[Observed]) -> None:
    one, three = (fitted(machine, captures, sweeps=LEAST, requests=1_000, threads=threads) for threads in (1, 3))
    assert one == three


def test_every_sweep_is_told_within_the_budget(machine: _core.Profile, captures: list[Observed]) -> None:
    told: list[None] = []
    problem = CaptureProblem(
        machine, captures, sweeps=20, requests=500, seed=1, threads=2, on_simulated=lambda: told.append(None)
    )
    problem.fit()
    assert 4 * LEAST // 2 <= len(told) <= 4 * (20 + 2 * 4)


def test_a_budget_below_a_step_of_every_search_is_refused(machine: _core.Profile, captures: list[Observed]) -> None:
    with pytest.raises(InputError, match=f"5 parameters take {LEAST} sweeps for that, and {LEAST - 1}") as caught:
        fitted(machine, captures, sweeps=LEAST - 1)
    assert caught.value.place == "sweeps"


def test_searches_that_the_budget_ends_have_no_error(
    machine: _core.Profile, captures: list[Observed], fit: CaptureFit
) -> None:
    """What all of them have left near their common start would look sure."""
    cut = fitted(machine, captures, sweeps=LEAST, requests=1_000)
    assert (fit.is_complete, cut.is_complete) == (True, False)
    errors = {estimate.key: estimate.sd for estimate in cut.estimates if estimate.is_fitted}
    assert errors["app.request_kcycles"] is errors["machine.power.static_w"] is None
    assert all(errors[key] for key in ("os.interrupt_kcycles", "app.ack_share"))


def test_one_capture_without_load_and_power_tells_less(machine: _core.Profile, captures: list[Observed]) -> None:
    alone = replace(captures[1], qps=None, power_w=None)
    fit = fitted(machine, [alone], sweeps=20, requests=2_000)
    assert [prediction.held_out for prediction in fit.predictions] == [False]
    assert not any(key.startswith("machine.power.") for key in fit.values)
    assert "app.request_us" not in fit.values
    assert fit.values["app.ack_share"] == 0.0
    estimates = {estimate.key: estimate for estimate in fit.estimates}
    assert not estimates["app.ack_share"].is_fitted
    assert estimates["app.request_kcycles"].sd is None
    assert estimates["os.interrupt_kcycles"].sd is not None
    assert fit.predictions[0].error("power_w") is None


HANDLERS = HandlerTimes.of(np.array([1, 2, 4]), np.array([2.0, 2.5, 3.5]))
SMALL = Observed(
    name="logs", setting=MappingProxyType({}), qps=10_000.0, power_w=None, cpus=4, freq_mhz=2000.0, interrupts=5_000,
    duration_s=1.0, packets=10_000, utilization=0.3, handlers=HANDLERS, delay_us=None, idle_shares={},
)  # fmt: skip


def refusal(machine: _core.Profile, capture: Observed) -> InputError:
    with pytest.raises(InputError) as caught:
        fitted(machine, [capture])
    return caught.value


@pytest.mark.parametrize("name", ["linux-netpipe", "ebbrt-memcached"])
def test_a_profile_of_another_kind_is_refused(name: str) -> None:
    assert "captures must be fitted to an open loop on Linux" in str(refusal(load_profile(name), SMALL))


def test_other_cores_are_refused(machine: _core.Profile) -> None:
    error = refusal(machine, replace(SMALL, cpus=16))
    assert "the capture has 16 and our memcached 4" in str(error)
    assert "machine.cores" in str(error.hint)


@pytest.mark.parametrize("qps", [3_000.0, 20_000.0])
def test_a_load_that_does_not_go_with_the_packets_is_refused(machine: _core.Profile, qps: float) -> None:
    assert "a load must be one or two packets a request" in str(refusal(machine, replace(SMALL, qps=qps)))


def test_chance_brings_fewer_packets_than_requests(machine: _core.Profile) -> None:
    fit = fitted(machine, [replace(SMALL, qps=10_200.0)], sweeps=4, requests=500)
    assert fit.values["app.ack_share"] == 0.0


def test_costs_that_cannot_be_told_apart_are_refused(machine: _core.Profile) -> None:
    alike = HandlerTimes.of(np.full(100, 1), np.linspace(2.0, 3.0, 100))
    assert "the more packets they bring" in str(refusal(machine, replace(SMALL, handlers=alike)))
