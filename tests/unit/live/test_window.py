from __future__ import annotations

from typing import Literal

import pytest
from msgspec.structs import replace

from bayop.errors import UnsupportedError
from bayop.live.agent.messages import Cause, Reading
from bayop.live.window import window_quantities


def reading(
    name: str, at: str, value: float | None, time_s: float, kind: Literal["counter", "gauge"] = "counter"
) -> Reading:
    error = None if value is not None else Cause("it failed", None, None, None, None)
    return Reading(name, at, value, kind, source="/sys/x", estimated=False, time_s=time_s, error=error)


def sample(time_s: float, energy_j: float | None, *more: tuple[str, str, float | None]) -> list[Reading]:
    counters = [reading(name, at, value, time_s) for name, at, value in more]
    return [reading("energy_j", "machine", energy_j, time_s), *counters]


def test_energy_becomes_power() -> None:
    quantities = window_quantities(sample(10.0, 5000.0), sample(12.0, 5100.0))
    assert quantities == {"power_w": 50.0, "energy_j": 100.0, "duration_s": 2.0}


def test_counters_of_many_places_become_one_quantity() -> None:
    before = sample(
        0.0, 0.0, ("cpu_busy_s", "cpu0", 5.0), ("cpu_busy_s", "cpu1", 6.0), ("cpu_idle_s", "cpu0", 1.0),
        ("cpu_idle_s", "cpu1", 2.0), ("interrupts", "eth0/rx-0", 100.0), ("interrupts", "eth0/rx-1", 50.0),
        ("idle_time_s", "cpu0/C1", 0.0), ("idle_time_s", "cpu1/C1", 1.0), ("idle_time_s", "cpu0/C6", 3.0),
        ("cpu_stolen_s", "cpu0", 0.5), ("cpu_stolen_s", "cpu1", 0.0), ("service_cpu_s", "service", 7.0),
    )  # fmt: skip
    after = sample(
        2.0, 60.0, ("cpu_busy_s", "cpu0", 6.0), ("cpu_busy_s", "cpu1", 6.5), ("cpu_idle_s", "cpu0", 2.0),
        ("cpu_idle_s", "cpu1", 3.5), ("interrupts", "eth0/rx-0", 900.0), ("interrupts", "eth0/rx-1", 50.0),
        ("idle_time_s", "cpu0/C1", 0.5), ("idle_time_s", "cpu1/C1", 2.5), ("idle_time_s", "cpu0/C6", 3.5),
        ("cpu_stolen_s", "cpu0", 0.9), ("cpu_stolen_s", "cpu1", 0.0), ("service_cpu_s", "service", 7.5),
    )  # fmt: skip
    assert window_quantities(before, after) == {
        "power_w": 30.0,
        "energy_j": 60.0,
        "duration_s": 2.0,
        "utilization": 1.5 / 4.0,
        "stolen": pytest.approx(0.4 / 4.0),
        "service_cpu": 0.25,
        "interrupts_per_s": 400.0,
        "residency_c1": 0.5,
        "residency_c6": 0.25,
    }


@pytest.mark.parametrize(
    ("then", "now"),
    [
        (4_294_967_290.0, 5.0),  # a 32-bit counter of the kernel has wrapped
        (100.0, None),
        (None, 100.0),
    ],
)
def test_a_sum_with_a_broken_part_is_left_out(then: float | None, now: float | None) -> None:
    before = sample(0.0, 0.0, ("interrupts", "eth0/rx-0", 1.0), ("interrupts", "eth0/rx-1", then))
    after = sample(1.0, 9.0, ("interrupts", "eth0/rx-0", 2.0), ("interrupts", "eth0/rx-1", now))
    assert "interrupts_per_s" not in window_quantities(before, after)


@pytest.mark.parametrize("broken", ["cpu_busy_s", "cpu_idle_s"])
def test_a_share_of_time_that_was_not_counted_whole_is_left_out(broken: str) -> None:
    names = ("cpu_busy_s", "cpu_idle_s", "cpu_stolen_s")
    before = sample(0.0, 0.0, *((name, "cpu0", 1.0) for name in names))
    after = sample(1.0, 9.0, *((name, "cpu0", None if name == broken else 1.5) for name in names))
    assert window_quantities(before, after).keys().isdisjoint(("utilization", "stolen"))


def test_gauges_and_the_energy_of_parts_say_nothing_about_the_window() -> None:
    before = sample(0.0, 0.0, ("energy_j", "package-0", 7.0))
    after = sample(1.0, 9.0, ("energy_j", "package-0", 3.0))
    after.append(reading("power_w", "machine", 8.0, 1.0, "gauge"))
    assert set(window_quantities(before, after)) == {"power_w", "energy_j", "duration_s"}


def test_a_meter_that_fails_says_why() -> None:
    with pytest.raises(UnsupportedError, match="energy can't be measured") as caught:
        window_quantities(sample(0.0, None), sample(1.0, 1.0))
    assert "it failed" in str(caught.value.hint)
    with pytest.raises(UnsupportedError, match="did not count on through the window"):
        window_quantities(sample(0.0, 5.0), sample(1.0, 1.0))
    with pytest.raises(UnsupportedError, match="reads no energy meter"):
        window_quantities([], [])
    old = replace(sample(0.0, 5.0)[0], time_s=1.0)
    with pytest.raises(UnsupportedError, match="did not count on"):
        window_quantities([old], [old])
