"""Days of `bench.switchback.coverage` through the controller itself: what does it say of a setting that does nothing?

A controller holds one setting for three days, and decides by itself when the default is in effect. A/A is a day on
which the setting does what the default does. `claims` is the share of first days that say that something is saved,
`covers` of those whose interval has the truth in it; `lets_go` is the share of controllers that have let go of the
setting in the end.

Example:
  python -m bench.switchback.controlled --out bench/switchback/results
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Final

from bench.results import tell_summary
from bench.switchback.coverage import SCHEDULES, WINDOW_S, WINDOWS, Day, simulate

from bayop.control.controller import Controller
from bayop.control.drive import drive
from bayop.control.guard import Guard
from bayop.control.history import History
from bayop.control.ledger import LedgerWindow
from bayop.control.notes import LetGo, Note, SwitchedBack
from bayop.control.policy import Policy
from bayop.control.switchbacks import Switchbacks, SwitchbackTerms
from bayop.control.triggers import AnyOf
from bayop.domains import Steps
from bayop.measurement import Measurement
from bayop.objective import Objective
from bayop.optimize.base import Finished, Observation, Optimizer, Prediction, Proposal
from bayop.search import Halt
from bayop.slo import Slo
from bayop.space import CAP_W, Knob, Setting, Space
from bayop.switchback import HeldSaving, held_saving

SLO: Final = Slo.parse("p99<500us")
SETTING: Final[Setting] = {CAP_W: 90}
SPACE: Final = Space((Knob(CAP_W, Steps(60, 120, 5), safest="high"),))
QPS: Final = 5000.0
SAVINGS: Final = (0.0, 0.05)
LONGER: Final = 3


@dataclass(slots=True)
class DayPlant:
    """A server whose power is that of simulated days.

    Attributes:
        days: The days.
        p99_us: Latency in a window that begins at a time, by the setting.
    """

    days: Sequence[Day]
    p99_us: Callable[[float, Setting | None], float] = lambda _, __: 200.0
    setting: Setting | None = None
    space: Space = SPACE
    description: str = "a simulated day"
    quantities: frozenset[str] = frozenset({"power_w", "p99_us", "qps"})

    def load_at(self, time_s: float) -> float:
        """The load; what varies with it is in the day."""
        del time_s
        return QPS

    def apply(self, setting: Setting) -> Setting:
        """Puts it in effect."""
        self.setting = setting
        return setting

    def restore(self) -> None:
        """Puts the default in effect."""
        self.setting = None

    def measure(self, start_s: float, duration_s: float) -> Measurement:
        """One window."""
        day, window = divmod(int(start_s / WINDOW_S), WINDOWS)
        power_w = (self.days[day].default_w if self.setting is None else self.days[day].setting_w)[window]
        p99_us = self.p99_us(start_s, self.setting)
        return Measurement({"power_w": float(power_w), "p99_us": p99_us, "qps": QPS, "duration_s": duration_s})


@dataclass(slots=True)
class Fixed(Optimizer):
    """Tries one setting, and trusts it.

    Attributes:
        moves: What it holds instead in the windows after the search, in order.
    """

    moves: Sequence[Setting] = ()
    told: list[Observation] = field(default_factory=list)

    def ask(self, trials_left: int) -> Proposal | Finished:
        """The setting, once."""
        del trials_left
        return Finished("converged") if self.told else Proposal(SETTING)

    def tell(self, observation: Observation) -> None:
        """Counts."""
        self.told.append(observation)

    def incumbent(self) -> Setting | None:
        """The setting."""
        return SETTING

    def polish(self, held: Setting | None) -> Setting | None:
        """The next of its moves, one for each window after the search."""
        del held
        windows = len(self.told) - 1
        return self.moves[min(windows, len(self.moves)) - 1] if self.moves and windows > 0 else SETTING

    def predict(self, setting: Setting) -> Prediction | None:
        """Nothing."""
        del setting
        return None


@dataclass(slots=True)
class Played:
    """What a controller did.

    Attributes:
        controller: At its end.
        windows: Its windows.
        notes: What it noted.
    """

    controller: Controller
    windows: list[LedgerWindow]
    notes: list[Note]

    def saving_until(self, time_s: float) -> HeldSaving:
        """What its switchbacks say that had ended then."""
        notes = (note for note in self.notes if isinstance(note, SwitchedBack))
        return held_saving([note.power_w for note in notes if note.end_s <= time_s])

    def share(self, phase: str) -> float:
        """How much of the windows are of a phase."""
        return fmean(window.phase == phase for window in self.windows)


def play(
    plant: DayPlant,
    switchbacks: Switchbacks,
    *,
    start_s: float = 0.0,
    halted: Callable[[float], Halt | None] = lambda _: None,
    moves: Sequence[Setting] = (),
    trigger: AnyOf | None = None,
    guard: Guard | None = None,
) -> Played:
    """A controller with a plant, from the search that finds the setting on."""
    windows: list[LedgerWindow] = []
    notes: list[Note] = []
    policy = Policy(
        SPACE,
        SLO,
        Objective.parse("power", SLO),
        trigger or AnyOf(()),
        guard,
        trial_s=WINDOW_S,
        watch_s=WINDOW_S,
        polish=len(moves),
    )
    controller = Controller(
        policy,
        lambda _, __: Fixed(moves),
        end_s=len(plant.days) * WINDOWS * WINDOW_S,
        history=History(most=1),
        halted=halted,
        switchbacks=switchbacks,
        on_window=windows.append,
        on_note=notes.append,
    )
    drive(controller, plant, start_s)
    return Played(controller, windows, notes)


def summarise(saving_share: float, days: int) -> Mapping[str, float]:
    """What a controller says of so many days."""
    played = []
    for seed in range(days):
        terms = SwitchbackTerms(SCHEDULES["adaptive"], seed=str(seed))
        own = [simulate(saving_share, seed + n * days) for n in range(LONGER)]
        played.append((own[0].saving_w, play(DayPlant(own), Switchbacks(terms))))
    first = [(truth, p.saving_until(WINDOWS * WINDOW_S)) for truth, p in played]
    return {
        "saving_share": saving_share,
        "claims": fmean(saving.significant for _, saving in first),
        "covers": fmean(saving.low <= truth <= saving.high for truth, saving in first),
        "lets_go": fmean(any(isinstance(note, LetGo) for note in p.notes) for _, p in played),
        "default_share": round(fmean(p.share("switchback") for _, p in played), 4),
    }


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=100, help="how many, for each saving")
    parser.add_argument("--out", type=Path, help="write summary.json and env.json into a folder")
    args = parser.parse_args()
    summary = [summarise(share, args.days) for share in SAVINGS]
    tell_summary("bench.switchback.controlled", summary, args.out and args.out / "controlled")


if __name__ == "__main__":
    main()
