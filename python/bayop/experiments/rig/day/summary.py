"""What a day on the rig says: what BayOp saves of the service's own work, and how often clients waited for too long."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from bayop.control.ledger import Phase
from bayop.experiments.rig.day.record import RigDay, RunWindow, Turn, Who
from bayop.saving import PairedSaving, paired_saving
from bayop.space import Setting

_HELD: Final[tuple[Phase, ...]] = ("hold", "fall-back")


@dataclass(frozen=True, slots=True)
class Work:
    """What some turns have shown together.

    Attributes:
        requests: How many were due.
        over: How many of them were slower than the SLO's limit, or had no answer.
        cpu_us: Processor time of the service for each request that it answered; None without any.
        polls: NET_RX softirqs of the machine for each of them.
        power_w: What the machine drew; None where nothing measured that.
    """

    requests: int
    over: int
    cpu_us: float | None
    polls: float | None
    power_w: float | None

    @property
    def over_share(self) -> float:
        """The share of the requests that were over the limit (0-1)."""
        return self.over / self.requests if self.requests else 0.0


def work_of(turns: Sequence[Turn]) -> Work:
    """What was seen in some turns."""
    served, duration_s = sum(turn.served for turn in turns), sum(turn.end_s - turn.start_s for turn in turns)
    energies_j = [turn.energy_j for turn in turns if turn.energy_j is not None]
    return Work(
        requests=sum(turn.requests for turn in turns),
        over=sum(turn.over for turn in turns),
        cpu_us=sum(turn.service_cpu_s for turn in turns) / served * 1e6 if served else None,
        polls=sum(turn.polls for turn in turns) / served if served else None,
        power_w=sum(energies_j) / duration_s if energies_j and len(energies_j) == len(turns) else None,
    )


def turns_of(day: RigDay, who: Who) -> list[Turn]:
    """The turns of the default, or of BayOp."""
    return [turn for turn in day.turns if turn.who == who]


def cpu_saving(day: RigDay) -> PairedSaving | None:
    """What is saved of the service's processor time for a request, in us, a pair an hour; None without a whole hour."""
    return _saving(day, lambda work: work.cpu_us)


def polls_saving(day: RigDay) -> PairedSaving | None:
    """What is saved of the machine's NET_RX softirqs for a request, a pair an hour; None without a whole hour."""
    return _saving(day, lambda work: work.polls)


def power_saving(day: RigDay) -> PairedSaving | None:
    """What is saved of the machine's power, in W, a pair an hour; None where nothing measured it."""
    return _saving(day, lambda work: work.power_w)


def held_share(day: RigDay) -> float:
    """The share of BayOp's time in which a setting was held (0-1)."""
    turns = turns_of(day, "bayop")
    whole_s = sum(turn.end_s - turn.start_s for turn in turns)
    held_s = sum(window.duration_s for window in day.windows if window.phase in _HELD)
    return min(held_s / whole_s, 1.0) if whole_s else 0.0


def windows_of(day: RigDay, turn: Turn) -> list[RunWindow]:
    """What `bayop run` had in effect in a turn, window by window."""
    return [window for window in day.windows if turn.start_s <= window.start_s < turn.end_s]


def last_held(day: RigDay, turn: Turn) -> Setting | None:
    """The setting that BayOp held last in a turn; None where it held none."""
    held = [window.setting for window in windows_of(day, turn) if window.phase in _HELD]
    return held[-1] if held else None


def _saving(day: RigDay, value: Callable[[Work], float | None]) -> PairedSaving | None:
    by_hour: dict[int, dict[Who, Turn]] = {}
    for turn in day.turns:
        by_hour.setdefault(turn.hour, {})[turn.who] = turn
    pairs = []
    for turns in by_hour.values():
        if len(turns) < len(("default", "bayop")):
            continue
        default, bayop = (value(work_of([turns[who]])) for who in ("default", "bayop"))
        if default is not None and bayop is not None:
            pairs.append((default, bayop))
    return paired_saving(pairs) if pairs else None
