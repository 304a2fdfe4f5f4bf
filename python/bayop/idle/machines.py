"""Tables of idle states: what kernels and vendors document of some server processors, and this machine's own.

Exit latencies and target residencies are the kernel's (drivers/idle/intel_idle.c; ACPI's _CST on AMD). Powers are
shares of a core that polls. For Skylake-SP they are published (Haj-Yahya et al., "AgileWatts", MICRO 2022, table 1: 4 W
in C0, 1.44 W in C1, 0.88 W in C1E, 0.1 W in C6), for Zen 2 as well (Schöne et al., "Energy Efficiency Aspects of the
AMD Zen 2 Architecture", CLUSTER 2021: 0.33 W for each further core that polls, 0.09 W for one in C1).

What is assumed: a core that polls takes C0's power. Zen 2's watts are what a core adds to one in C2, so that one in C2
takes nothing; its target residency is twice its latency, by the kernel's rule for states that ACPI tells of. The other
Intel processors have Skylake-SP's shares, C7 that of C6, and C3 what lies between C1E and C6. The shares of `own` go by
Intel's names whatever the processor is, and a name that is not among them counts as the deepest state.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bayop import _core
from bayop.errors import InputError, UnsupportedError, guess

OWN: Final = "own"
"""The name of the machine that this program runs on."""

_POLL, _C1, _C1E, _C3, _DEEPEST = 1.0, 0.36, 0.22, 0.10, 0.025
_SHARES: Final = {"POLL": _POLL, "C1": _C1, "C1E": _C1E, "C3": _C3}


@dataclass(frozen=True, slots=True)
class IdleState:
    """An idle state of a core.

    Attributes:
        name: As the kernel names it.
        exit_latency_us: Worst case of the time from the wake-up to the first instruction.
        target_residency_us: Shortest stay that saves energy against the next shallower state.
        power_share: Power in the state, relative to a core that polls.
    """

    name: str
    exit_latency_us: int
    target_residency_us: int
    power_share: float


@dataclass(frozen=True, slots=True)
class Machine:
    """A processor's idle states, from the shallowest to the deepest.

    Attributes:
        name: How the command line calls it.
        summary: What it is.
        states: Its states.
    """

    name: str
    summary: str
    states: tuple[IdleState, ...]

    def table(self) -> list[tuple[int, int, float]]:
        """Exit latency, target residency and power of each state, as `_core.idle_replay` takes them."""
        return [(state.exit_latency_us, state.target_residency_us, state.power_share) for state in self.states]


_HALTS: Final = (IdleState("POLL", 0, 0, _POLL), IdleState("C1", 2, 2, _C1), IdleState("C1E", 10, 20, _C1E))

MACHINES: Final = {
    machine.name: machine
    for machine in (
        Machine(
            "sandy-bridge",
            "Xeon E5-2600, 2012: the papers' server, whose kernel enters C7 and not C6",
            (*_HALTS, IdleState("C3", 80, 211, _C3), IdleState("C7", 109, 345, _DEEPEST)),
        ),
        Machine(
            "haswell",
            "Xeon E5-2600 v3, 2014",
            (*_HALTS, IdleState("C3", 33, 100, _C3), IdleState("C6", 133, 400, _DEEPEST)),
        ),
        Machine("skylake-sp", "Xeon Scalable, 2017", (*_HALTS, IdleState("C6", 133, 600, _DEEPEST))),
        Machine(
            "ice-lake-sp",
            "Xeon Scalable of the third generation, 2021",
            (
                IdleState("POLL", 0, 0, _POLL),
                IdleState("C1", 1, 1, _C1),
                IdleState("C1E", 4, 4, _C1E),
                IdleState("C6", 170, 600, _DEEPEST),
            ),
        ),
        Machine(
            "zen2",
            "EPYC 7002, 2019: C2 as ACPI tells it, which is longer than it measures",
            (IdleState("POLL", 0, 0, _POLL), IdleState("C1", 1, 2, 0.09 / 0.33), IdleState("C2", 400, 800, 0.0)),
        ),
    )
}


def machine(name: str, *, root: Path | None = None) -> Machine:
    """The machine of a name; `own` is this one, or the one recorded in a folder, with the Intel shares of power.

    Raises:
        InputError: there is none of that name.
        UnsupportedError: this one's kernel shows no idle states.
    """
    if name == OWN:
        return _own(root)
    if name not in MACHINES:
        known = ", ".join((*MACHINES, OWN))
        hint = guess(name, (*MACHINES, OWN)) or f"known: {known}"
        raise InputError(wrong=f"there is no machine {name!r}", value=name, hint=hint)
    return MACHINES[name]


def with_shares(found: Iterable[tuple[str, int, int]]) -> tuple[IdleState, ...]:
    """What a kernel tells of its idle states (name, exit latency, target residency), with the Intel shares of power."""
    states = []
    share = _POLL
    for name, exit_latency_us, target_residency_us in found:
        share = min(share, _SHARES.get(name.replace("-", "_").split("_")[0], _DEEPEST))
        states.append(IdleState(name, exit_latency_us, target_residency_us, share))
    return tuple(states)


def _own(root: Path | None) -> Machine:
    try:
        found = _core.find_idle_states(root=root)
    except _core.Error as error:
        hint = f"name another machine, such as {next(iter(MACHINES))}"
        raise UnsupportedError.of(error).but(hint=hint) from error
    return Machine(OWN, "this machine", with_shares(found))
