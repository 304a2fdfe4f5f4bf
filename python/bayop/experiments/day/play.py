"""The 24-hour experiment of [D] section 4.2: one day of load, served by several configurations of the same server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Event
from typing import Final, TypeVar

from bayop.control.controller import Controller
from bayop.control.drive import drive
from bayop.control.guard import Guard
from bayop.control.ledger import Ledger, LedgerWindow
from bayop.control.policy import Policy
from bayop.control.triggers import Trigger
from bayop.errors import InputError
from bayop.experiments.day.plant import CurvePlant
from bayop.experiments.day.record import DayRecord, Kind, MapRecord, RunRecord, SearchRecord
from bayop.experiments.day.sweep import Effort, sweep_day
from bayop.load.curve import LoadCurve
from bayop.objective import Objective
from bayop.optimize import make_optimizer
from bayop.optimize.base import Optimizer, Problem
from bayop.search import check_measured
from bayop.space import FREQ_MHZ, RX_USECS, plain_setting
from bayop.target.oracle import Oracle
from bayop.units import HOUR_S

T = TypeVar("T")

PEAK_QPS: Final[Mapping[str, float]] = {"memcached": 750_000.0, "silo": 250_000.0}
"""The services of [D] and the load at the peak of their day."""

WINDOW_REQUESTS: Final = 400_000
"""Modelled requests in a controller's window."""

SYSTEMS: Final = ("linux", "ebbrt")
"""The operating systems that the day is played on."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """One way to run the server for a day.

    Attributes:
        kind: The operating system alone, a controller, or the best static setting of every hour.
        only: The knobs that a controller may set; the others stay with the operating system. Empty for all.
    """

    id: str
    label: str
    os: str
    kind: Kind
    only: tuple[str, ...] = ()


CONFIGURATIONS: Final = (
    Configuration("linux-default", "Linux default", "linux", "default"),
    Configuration("itr-only", "ITR-delay only", "linux", "search", (RX_USECS,)),
    Configuration("frequency-only", "Frequency only", "linux", "search", (FREQ_MHZ,)),
    Configuration("bayop-linux", "BayOp on Linux", "linux", "search"),
    Configuration("bound-linux", "Best per hour, Linux", "linux", "bound"),
    Configuration("bayop-ebbrt", "BayOp on EbbRT", "ebbrt", "search"),
    Configuration("bound-ebbrt", "Best per hour, EbbRT", "ebbrt", "bound"),
)


@dataclass(frozen=True, slots=True)
class DayPlan:
    """What is played.

    Attributes:
        app: The service.
        objective: What is minimised, with its SLO.
        headroom: How far searches stay below the SLO's limit, as a share of it.
        curve: Offered load, already scaled; its length is the experiment's.
        trigger: When controllers search again.
        trigger_name: How people call it.
        seed: Seed of everything random.
        requests: Modelled requests of a controller's window.
        effort: Of the sweeps.
    """

    app: str
    objective: Objective
    curve: LoadCurve
    trigger: Trigger
    trigger_name: str
    seed: int
    requests: int
    effort: Effort
    headroom: float = 0.0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one configuration is: the share of its day (0-1), and its latest window if it has one."""

    configuration: Configuration
    share: float
    window: LedgerWindow | None = None


def play_day(
    plan: DayPlan, oracles: Mapping[str, Oracle], on_progress: Callable[[Progress], None] = lambda _: None
) -> DayRecord:
    """Plays the day on every configuration whose operating system has an oracle.

    Controllers run side by side in threads, then the sweeps; the result does not depend on how many threads there
    are. Ctrl-C ends all of them within a window and is passed on.

    Args:
        plan: What to play.
        oracles: The modelled servers, by operating system; Linux is one of them.
        on_progress: Called from several threads, for display.

    Raises:
        InputError: there is no Linux to compare with.
    """
    if "linux" not in oracles:
        raise InputError("a day must be compared with Linux left alone", value=list(oracles))
    configurations = [c for c in CONFIGURATIONS if c.os in oracles]
    stop = Event()
    runs: dict[str, RunRecord] = {}
    maps: list[MapRecord] = []
    with ThreadPoolExecutor(max_workers=plan.effort.threads) as pool:
        try:
            futures = {
                c.id: pool.submit(_play, plan, c, oracles[c.os], stop, on_progress)
                for c in configurations
                if c.kind != "bound"
            }
            runs = {run_id: _wait(future) for run_id, future in futures.items()}
            for c in configurations:
                if c.kind == "bound":
                    runs[c.id] = _bound(plan, c, oracles[c.os], maps, on_progress)
        except BaseException:
            stop.set()
            raise
    return DayRecord(
        app=plan.app,
        slo=str(plan.objective.slo),
        objective=plan.objective.name,
        trigger=plan.trigger_name,
        curve=plan.curve.name,
        seed=plan.seed,
        hourly_qps=plan.curve.hourly_qps,
        server=oracles["linux"].description,
        runs=tuple(runs[c.id] for c in configurations),
        maps=tuple(maps),
    )


def _play(
    plan: DayPlan,
    configuration: Configuration,
    oracle: Oracle,
    stop: Event,
    on_progress: Callable[[Progress], None],
) -> RunRecord:
    """One controller's day; the default is a controller that never searches."""

    def check() -> None:
        if stop.is_set():
            raise KeyboardInterrupt

    books = Ledger()

    def on_window(window: LedgerWindow) -> None:
        books.add(window)
        on_progress(Progress(configuration, window.end_s / end_s, window))

    end_s = len(plan.curve.hourly_qps) * HOUR_S
    slo = plan.objective.slo
    plant = CurvePlant(oracle, plan.curve, seed=plan.seed * 100_000, requests=plan.requests, check=check)
    searches = configuration.kind == "search"
    policy = Policy(
        space=oracle.space.only(configuration.only) if configuration.only else oracle.space.without_auto(),
        slo=slo,
        objective=plan.objective,
        headroom=plan.headroom,
        trigger=plan.trigger if searches else None,
        guard=Guard() if searches and plan.objective.constrained else None,
    )

    def optimizer(problem: Problem, number: int) -> Optimizer:
        return make_optimizer("grey-box", problem, seed=plan.seed * 1000 + number)

    check_measured(plant, plan.objective)
    controller = Controller(policy, optimizer, end_s=end_s, on_window=on_window, on_search=books.searches.append)
    try:
        if not drive(controller, plant, 0.0):
            raise KeyboardInterrupt
    finally:
        plant.restore()
    return _record(configuration, books, plan)


def _bound(
    plan: DayPlan,
    configuration: Configuration,
    oracle: Oracle,
    maps: list[MapRecord],
    on_progress: Callable[[Progress], None],
) -> RunRecord:
    hours = len(plan.curve.hourly_qps)
    books, bound_maps = sweep_day(
        oracle,
        configuration.os,
        plan.curve,
        plan.objective,
        seed=plan.seed * 100_000 + 50_000,
        effort=plan.effort,
        on_hour=lambda hour: on_progress(Progress(configuration, (hour + 1) / hours)),
    )
    maps.extend(bound_maps)
    return _record(configuration, books, plan)


def _record(configuration: Configuration, books: Ledger, plan: DayPlan) -> RunRecord:
    return RunRecord(
        id=configuration.id,
        label=configuration.label,
        os=configuration.os,
        kind=configuration.kind,
        windows=tuple(replace(w, setting=plain_setting(w.setting)) for w in books.windows),
        searches=tuple(SearchRecord.of(s, plan.objective.slo) for s in books.searches),
    )


def _wait(future: Future[T]) -> T:
    """The result; waits in short steps, so that Ctrl-C is seen at once."""
    while True:
        try:
            return future.result(timeout=0.2)
        except TimeoutError:
            if future.done():
                return future.result()
