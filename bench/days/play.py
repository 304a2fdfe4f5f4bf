"""One day of one service, by the controller of `bayop run`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bench.days.curves import DAY_MIN, MINUTE_S, MinuteCurve
from bench.days.plant import GuardedPlant
from bench.days.yardstick import Yardstick

from bayop.control.controller import Controller
from bayop.control.drive import drive
from bayop.control.guard import Guard
from bayop.control.ledger import Ledger
from bayop.control.policy import Policy
from bayop.control.triggers import AnyOf, Breach, LoadChange
from bayop.control.warm import Warm
from bayop.daemon.policy import STEADY
from bayop.objective import Objective
from bayop.optimize import make_optimizer
from bayop.slo import Slo
from bayop.twin.oracle import TwinOracle
from bayop.units import HOUR_S

LOAD_CHANGE: Final = 0.1
POLISH: Final = 60
"""As `bayop run` has them where the file says nothing."""


@dataclass(frozen=True, slots=True)
class Play:
    """What to run.

    Attributes:
        app: The service.
        curve: Its load.
        slo: Under which power is least.
        yardstick: What the day is judged by.
        seed: Of the windows and the searches.
        follow: Whether what is held follows the load, as `bayop run` has it do.
        requests: So many of each minute's are modelled.
    """

    app: str
    curve: MinuteCurve
    slo: str
    yardstick: Yardstick
    seed: int
    follow: bool
    requests: int


@dataclass(frozen=True, slots=True)
class Day:
    """How it went; the fields are the columns of raw.csv.

    Attributes:
        crowds: Whether it had flash crowds.
        saving: 1 - E / E_default, trials included.
        bound_saving: That of the best static setting of every minute.
        over_h: Time in windows that missed the SLO, in h.
        over_trial_h: The part of that which trials took.
        requests_over: Share of the requests slower than the SLO's limit.
    """

    app: str
    curve: str
    crowds: bool
    seed: int
    saving: float
    bound_saving: float
    over_h: float
    over_trial_h: float
    requests_over: float
    searches: int
    taken_warm: int
    trials: int
    fall_backs: int

    @property
    def share(self) -> float:
        """Of the bound's saving."""
        return self.saving / self.bound_saving


def play(what: Play) -> Day:
    """Plays the day."""
    books = keep_books(what)
    default_w, bound_w = what.yardstick.mean_w(what.curve.qps)
    over = [w for w in books.windows if not w.meets_slo]
    return Day(
        app=what.app,
        curve=what.curve.name,
        crowds=what.curve.crowded,
        seed=what.seed,
        saving=1.0 - books.energy_j / books.duration_s / default_w,
        bound_saving=1.0 - bound_w / default_w,
        over_h=books.over_s / HOUR_S,
        over_trial_h=sum(w.duration_s for w in over if w.phase == "trial") / HOUR_S,
        requests_over=books.requests_over / books.requests,
        searches=len(books.searches),
        taken_warm=sum(search.stopped == "warm" for search in books.searches),
        trials=books.trials,
        fall_backs=sum(w.phase == "fall-back" for w in books.windows),
    )


def keep_books(what: Play) -> Ledger:
    """The controller's books of the day."""
    oracle = TwinOracle(f"linux-{what.app}")
    slo = Slo.parse(what.slo)
    policy = Policy(
        space=oracle.space.without_auto(),
        slo=slo,
        objective=Objective.parse("power", slo),
        trigger=AnyOf((LoadChange(LOAD_CHANGE), Breach())),
        guard=Guard(),
        small_steps=True,
        default_first=True,
        polish=POLISH,
        follow=what.follow,
        steady=STEADY if what.follow else 0.0,
    )
    books = Ledger()
    controller = Controller(
        policy,
        lambda problem, number: make_optimizer("grey-box", problem, seed=what.seed * 1000 + number),
        end_s=DAY_MIN * MINUTE_S,
        warm=Warm(),
        on_window=books.add,
        on_search=books.searches.append,
    )
    plant = GuardedPlant(oracle, what.curve, slo, seed=what.seed * 100_000, requests=what.requests)
    drive(controller, plant, 0.0)
    return books
