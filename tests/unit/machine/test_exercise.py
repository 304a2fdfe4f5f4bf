"""Which values an exercise tries, and what it calls a failure."""

from __future__ import annotations

import pytest

from bayop.domains import Choices, Steps, Value
from bayop.live.agent.messages import Domain, MachineKnob, MachineKnobs, Numbers, Place
from bayop.machine.exercise import Attempt, Exercise, places, two_values
from bayop.space import AUTO


@pytest.mark.parametrize(
    ("domain", "found", "values"),
    [
        (Steps(0, 900, 1), 3, (300, 600)),
        (Steps(0, 900, 1), 300, (600, 0)),
        (Steps(0, 120, 1e-6), 120, (40, 80)),
        (Steps(0, 20, 10), 0, (10, 20)),
        (Steps(0, 10, 10), 0, (10,)),
        (Steps(5, 5, 1), 5, ()),
        (Steps(0, 30, 1, ((1, 9),)), 0, (10, 20)),
        (Steps(0, 27, 1, ((9, 9),)), 0, (18, 1)),
        (Choices(("off", "on")), "off", ("off", "on")),
        (Choices(("menu", "teo", "haltpoll")), "menu", ("teo", "haltpoll")),
        (Choices(("menu",)), "menu", ("menu",)),
    ],
)
def test_two_values_are_tried_away_from_the_ends(
    domain: Steps | Choices, found: Value, values: tuple[Value, ...]
) -> None:
    assert two_values(domain, found) == values


def test_only_what_is_allowed_is_exercised() -> None:
    domain = Domain(Numbers(0, 10, 1, ()))
    allowed, other = Place("eth0", domain, domain, 3, None), Place("eth1", domain, None, 3, None)
    machine = MachineKnobs((MachineKnob("nic.rx_usecs", "", "us", "low", (allowed, other)),), ())
    assert places(machine) == [("nic.rx_usecs@eth0", Steps(0, 10, 1), 3)]


def exercise(*attempts: Attempt, restored: Attempt | None = None, calibrated: bool = False) -> Exercise:
    return Exercise("a@b", 3, attempts, restored or Attempt(AUTO, 3, 1.0), calibrated)


def test_failures_are_what_was_not_taken_read_or_restored() -> None:
    assert exercise(Attempt(10, 10, 1.0), Attempt(20, 20, 1.0)).failure is None
    assert exercise(Attempt(1e-6 * 45666666, 45.666666, 1.0)).failure is None, "W of a limit in uW"
    assert exercise(Attempt("on", "off", 1.0)).failure == "asked for on, reads off"
    assert exercise(Attempt(10, 12, 1.0)).failure == "asked for 10, reads 12"
    assert exercise(Attempt(10, 12, 1.0), calibrated=True).failure is None
    assert exercise(Attempt(10, None, 1.0, "the kernel says no")).failure == "the kernel says no"
    assert exercise(Attempt(10, 10, 1.0), restored=Attempt(AUTO, 4, 1.0)).failure == "was 3, is 4"
