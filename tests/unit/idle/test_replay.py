from __future__ import annotations

from pathlib import Path

import pytest

from bayop.errors import InputError, UnsupportedError
from bayop.idle.machines import MACHINES, OWN, machine
from bayop.idle.replay import choices, governors, replay
from bayop.idle.stays import NETWORK
from bayop.idle.synthetic import synthetic_trace
from bayop.idle.trace import Trace

SANDY_BRIDGE = MACHINES["sandy-bridge"]


def periods(*lengths_us: int) -> Trace:
    start_us, rows = 0, []
    for length_us in lengths_us:
        rows.append((start_us, length_us, 10_000_000, NETWORK, 1, 5))
        start_us += length_us + 10
    return Trace("periods", tuple(rows))


def test_what_polls_is_never_late_and_takes_the_power_of_polling() -> None:
    # Haltpoll begins with a poll of no length: it halts in the deepest state until it has learned to poll.
    first = replay(periods(60), "haltpoll", SANDY_BRIDGE)
    assert first.wake_latency_mean_us == 109
    later = choices(periods(*[60] * 20), "haltpoll", SANDY_BRIDGE)
    assert later[-1][1] == 0


def test_regular_periods_leave_little_above_the_minimum() -> None:
    trace = periods(*[500] * 3_000)
    ladder, bayop = (replay(trace, name, SANDY_BRIDGE) for name in ("ladder", "bayop"))
    assert bayop.energy_over_clairvoyant < 1.1
    assert bayop.wake_latency_mean_us < 10 < ladder.wake_latency_mean_us


def test_a_greater_price_means_less_latency_and_no_less_energy() -> None:
    trace = synthetic_trace("poisson", 1)
    cheap, dear = (replay(trace, "bayop", SANDY_BRIDGE, price=price) for price in (0.05, 2.0))
    assert dear.wake_latency_mean_us < cheap.wake_latency_mean_us
    assert dear.energy_over_clairvoyant > cheap.energy_over_clairvoyant


@pytest.mark.parametrize("limit_us", [20, 50])
@pytest.mark.parametrize("kind", ["poisson", "batch", "periodic"])
def test_the_slo_bounds_the_tail(kind: str, limit_us: int) -> None:
    result = replay(synthetic_trace(kind, 1), "bayop-slo", SANDY_BRIDGE, limit_us=limit_us)
    assert result.wake_latency_p99_us <= limit_us


@pytest.mark.parametrize("shadow", ["menu", "teo"])
def test_with_a_shadow_it_is_no_later_than_that(shadow: str) -> None:
    trace = synthetic_trace("batch", 2)
    other, own = replay(trace, shadow, SANDY_BRIDGE), replay(trace, f"bayop-{shadow}", SANDY_BRIDGE)
    assert own.wake_latency_mean_us <= other.wake_latency_mean_us * 1.005
    assert own.energy_over_clairvoyant <= other.energy_over_clairvoyant + 0.003


def test_every_governor_replays_every_machine() -> None:
    trace = periods(*range(1, 2_000, 7))
    for name in governors():
        for table in MACHINES.values():
            result = replay(trace, name, table)
            assert result.decisions >= len(trace.rows)
            assert result.wake_latency_p99_us <= table.states[-1].exit_latency_us


def test_the_machine_of_a_recorded_folder(tmp_path: Path) -> None:
    folder = tmp_path / "sys/devices/system/cpu/cpu0/cpuidle"
    for index, (name, latency, residency) in enumerate(
        [("POLL", 0, 0), ("C1_ACPI", 1, 1), ("C1E-SNB", 10, 20), ("C6", 100, 300)]
    ):
        state = folder / f"state{index}"
        state.mkdir(parents=True)
        for attribute, value in (("name", name), ("latency", latency), ("residency", residency)):
            (state / attribute).write_text(f"{value}\n", encoding="utf-8")
    own = machine(OWN, root=tmp_path)
    assert own.table() == [(0, 0, 1.0), (1, 1, 0.36), (10, 20, 0.22), (100, 300, 0.025)]


def test_names_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no machine"):
        machine("pentium")
    with pytest.raises(UnsupportedError, match="no idle states"):
        machine(OWN, root=tmp_path)
