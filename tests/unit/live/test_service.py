"""What a service takes, beside sensors that say what a test wants them to."""

from __future__ import annotations

import pytest

from bayop.errors import UnsupportedError
from bayop.live.agent.messages import Reading
from bayop.live.service import PowerModel, Service
from bayop.live.window import meter_of, window_quantities


def sample(time_s: float, energy_j: float) -> list[Reading]:
    """What an agent says."""
    return [
        Reading("energy_j", "package-0", 7.0, "counter", "a zone", estimated=False, time_s=time_s, error=None),
        Reading("energy_j", "machine", energy_j, "counter", "a meter", estimated=False, time_s=time_s, error=None),
    ]


def test_power_is_that_of_the_service_and_its_polls_whatever_the_meter_says() -> None:
    cpu_s, polls = iter([3.0, 3.5]), iter([1000, 26_000])
    model = PowerModel(idle_w=20.0, busy_w=60.0, cpus=2, polls=lambda: next(polls), poll_s=1e-5)
    service = Service(lambda: next(cpu_s), model, "cpu.stat")
    before, after = service.beside(sample(10.0, 0.0)), service.beside(sample(12.0, 120.0))
    quantities = window_quantities(before, after)
    # 0.5 s of the service and 0.25 s of polls in 2 s of two processors.
    assert quantities["power_w"] == pytest.approx(20.0 + 40.0 * 0.75 / 4.0)
    assert quantities["service_cpu"] == 0.25
    meter = meter_of(after)
    assert meter.estimated
    assert (
        meter.source == "the service's processor time (cpu.stat) and 10 us a poll of its device (20 W idle, 60 W busy)"
    )
    assert [r.at for r in after if r.name == "energy_j"] == ["package-0", "machine"]


def test_without_a_model_the_agents_meter_counts() -> None:
    readings = Service(lambda: 3.0).beside(sample(10.0, 5.0))
    assert readings[:2] == sample(10.0, 5.0)
    assert [(r.name, r.value, r.time_s) for r in readings[2:]] == [("service_cpu_s", 3.0, 10.0)]


def test_a_machine_without_a_meter_has_no_clock() -> None:
    with pytest.raises(UnsupportedError, match="reads no energy meter"):
        Service(lambda: 3.0).beside([])
