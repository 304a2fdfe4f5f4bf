"""`bayop live`: a sweep and a search on a real service of this machine, in namespaces of its own."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bayop import __version__
from bayop.cli.flags import agent as agent_flags
from bayop.cli.flags import arguments, rig
from bayop.cli.flags import confirm as confirm_flags
from bayop.cli.flags.applications import add_applications, application_of
from bayop.cli.terminal.output import print_json
from bayop.cli.tune import events
from bayop.errors import InputError
from bayop.live.patience import PATIENCE_S
from bayop.units import round_significant

if TYPE_CHECKING:
    from bayop.experiments.rig.experiment import Stage
    from bayop.experiments.rig.record import LiveRecord, Point
    from bayop.live.target import AgentTarget
    from bayop.optimize.base import Problem
    from bayop.space import Setting, Space

EXAMPLE: Final = """\
  bayop live
  bayop live --slo 'p99<500us' --load 4kqps --out build/live
  bayop live --app nginx --load 3kqps
  bayop live --app tpcc --load 4kqps
  bayop live --timeouts 0,50,200 --max-trials 6 --json
"""

PAIRS: Final = 16
"""The most rounds in which default and winners are measured again."""

_TIMEOUTS_US: Final = (0, 20, 50, 100, 150, 200, 300, 400)
_SLO: Final = "p90<500us"
_MOST_US: Final = 1000
_POLLS: Final = (1, 2, 4)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument("--app", default="memcached", metavar="NAME", help="the service (default: memcached)")
    add_applications(parser)
    arguments.add_slo(parser, or_else=f"the application's, else {_SLO}")
    arguments.add_headroom(parser)
    arguments.add_objective(parser)
    parser.add_argument(
        "--load",
        type=arguments.reader(arguments.qps, "--load"),
        metavar="QPS",
        help="requests/s on the service (default: the application's share of what it answers at most, else 8000)",
    )
    parser.add_argument(
        "--window",
        type=arguments.reader(arguments.duration_s, "--window"),
        metavar="TIME",
        help="how long one window is (default: 1s, or for as many requests as the application wants)",
    )
    parser.add_argument(
        "--patience",
        type=arguments.reader(arguments.duration_s, "--patience"),
        default=PATIENCE_S,
        metavar="TIME",
        help="how long to wait, all in all, while a hypervisor takes the processors away (default: 1min)",
    )
    parser.add_argument(
        "--timeouts",
        type=arguments.reader(_timeouts, "--timeouts"),
        metavar="US,...",
        help=f"values of gro_flush_timeout to sweep, up to {_MOST_US} (default: those of "
        f"{','.join(map(str, _TIMEOUTS_US))} that the application has searched)",
    )
    parser.add_argument(
        "--no-fifo",
        action="store_true",
        help="service and load take turns with all else that runs here, as what spins on locks has to",
    )
    parser.add_argument(
        "--cpus",
        type=arguments.reader(arguments.cpus, "--cpus"),
        metavar="LIST",
        help="where the service runs, such as 0,2-3 (default: on all)",
    )
    parser.add_argument(
        "--load-cpus",
        type=arguments.reader(arguments.cpus, "--load-cpus"),
        metavar="LIST",
        help="where the load comes from (default: all)",
    )
    arguments.add_max_trials(parser)
    confirm_flags.add_pairs(parser, default=PAIRS)
    rig.add_agent_program(parser)
    arguments.add_report_folder(parser, default="bayop-live")
    arguments.add_seed(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Sweeps, searches and reports; 1 when no setting is trusted to meet the SLO."""
    from bayop.experiments.rig.namespaces import LONGEST_US, Rig
    from bayop.experiments.rig.veth import Schedule
    from bayop.files import make_folder
    from bayop.live.file import LiveFile
    from bayop.live.search import open_target
    from bayop.slo import Slo

    application = application_of(args, "--app")
    slo = args.slo or (application.live.slo if application.live else Slo.parse(_SLO))
    objective = arguments.objective_of(args, slo)
    make_folder(args.out)
    program = rig.program(args.agent_program, target="live")
    with Rig(
        program,
        qps=args.load,
        window_s=args.window,
        patience_s=args.patience,
        longest_us=max(*args.timeouts, LONGEST_US) if args.timeouts else None,
        application=application,
        schedule=Schedule(not args.no_fifo, args.cpus, args.load_cpus),
    ) as machine:
        holder = agent_flags.holder("live")
        opening = open_target(LiveFile.read(machine.file), slo, holder=holder, service=machine.service())
        with agent_flags.reporting(opening) as target:
            from bayop.optimize.base import Problem
            from bayop.search import check_problem

            problem = Problem(
                target.space.without_auto(),
                slo,
                objective,
                target.qps,
                headroom=args.headroom or 0.0,
                small_steps=True,
            )
            check_problem(target, problem, args.max_trials)
            record = _experiment(args, target, problem)
    return 0 if record.held is not None else 1


def _experiment(
    args: argparse.Namespace,
    target: AgentTarget,
    problem: Problem,
) -> LiveRecord:
    """Runs the experiment; whatever ends it, what was measured is written."""
    from bayop.experiments.rig.experiment import run_experiment
    from bayop.experiments.rig.record import LiveRecord, Point

    record = LiveRecord(
        machine=target.description,
        slo=str(problem.slo),
        objective=problem.objective.name,
        qps=problem.qps,
        seed=args.seed,
        estimated=bool(target.estimated),
        busy_before=target.busy_before,
        default=Point.of({}, target.baseline()),
        most_pairs=args.confirm,
        application=args.app,
    )
    display = _Events(record, problem) if args.json else _display(record, problem)
    grid = [setting for setting in _grid(args.timeouts or _TIMEOUTS_US) if _is_within(problem.space, setting)]
    if not grid:
        raise InputError(
            "the knobs of an application must leave a setting to sweep",
            wrong=f"none of the timeouts {','.join(map(str, _TIMEOUTS_US))} us with {_POLLS} polls is in its ranges",
            place=args.app,
            hint="say others by --timeouts",
        )
    with rig.recorded(record, args, display.on_data):
        run_experiment(target, problem, grid, record, max_trials=args.max_trials, on_point=display.on_point)
    from bayop.experiments.rig.summary import shortfall
    from bayop.report.live.report import write_report

    display.on_end(shortfall(record, problem), write_report(record, problem, args.out, __version__))
    return record


class _Events:
    """The experiment for programs: one JSON object a line."""

    def __init__(self, record: LiveRecord, problem: Problem) -> None:
        self._record, self._problem = record, problem
        start = {k: v for k, v in record.to_json().items() if k in ("machine", "slo", "objective", "qps", "seed")}
        estimated = ["energy_j", "power_w"] if record.estimated else []
        print_json({"event": "start", **start, "estimated": estimated, "busy_before": record.busy_before})

    def on_point(self, stage: Stage, point: Point) -> None:
        quantities = {name: round_significant(value) for name, value in point.quantities.items()}
        event = {"event": stage, "setting": dict(point.setting), "measured": quantities}
        print_json({**event, "cut_short": point.cut_short})

    def on_data(self, path: Path) -> None:
        print_json({"event": "data", "file": str(path), "failure": self._record.failure})

    def on_end(self, shortfall: float | None, report: Path) -> None:
        record = self._record
        from bayop.experiments.rig.summary import compare, cpu_saving

        more = None if shortfall is None else round_significant(shortfall)
        saving = events.of_comparison(compare(record, self._problem), self._problem)
        cpu = cpu_saving(record)
        result: dict[str, object] = {"saving": saving, "cpu_saving": None if cpu is None else events.numbers(cpu)}
        result |= {"found": record.held, "best_of_sweep": record.best, "trials": len(record.search), "shortfall": more}
        print_json({"event": "result", **result, "stopped": record.stopped, "report": str(report)})


def _display(record: LiveRecord, problem: Problem) -> Any:  # noqa: ANN401 -- of the same shape as `_Events`
    from bayop.cli.live.display import Display  # `--json` must not pay for rich

    return Display(record, problem)


def _grid(timeouts_us: tuple[int, ...]) -> list[Setting]:
    from bayop.space import DEFER_HARD_IRQS, GRO_FLUSH_TIMEOUT_US

    return [{GRO_FLUSH_TIMEOUT_US: timeout, DEFER_HARD_IRQS: polls} for timeout in timeouts_us for polls in _POLLS]


def _is_within(space: Space, setting: Setting) -> bool:
    return all(space[knob].takes(value) for knob, value in setting.items())


def _timeouts(text: str) -> tuple[int, ...]:
    read = arguments.whole_number(0, _MOST_US)
    values = tuple(sorted({read(part) for part in text.split(",")}))
    if any(value % 10 for value in values):
        raise InputError("a timeout must be a multiple of 10 us", value=text)
    return values
