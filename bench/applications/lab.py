"""What a frequency and a NIC's delay save of each application, live, through the lab's kernel.

The application runs in the lab's emulated server, with the agent beside it, and `bayop load`'s generator asks it from
outside. First the default alone says its p99, twice of which is the SLO; then a sweep and a search minimise power over
`cpu.freq_mhz` and `nic.rx_usecs`, and default, result and the sweep's best are measured again in turns, as `bayop live`
does on its rig, with the same report. Kernel, acpi-cpufreq, e1000e, agent and application are real; the processor is
emulated, so that no frequency makes it faster or slower, and power is by the lab's law (lab/README.md).

Example:
  lab/install-packages && cargo build --release --package bayop-agent
  python -m bench.applications.lab --agent-program target/release/bayop-agent
  python -m bench.applications.lab --agent-program target/release/bayop-agent --apps nginx --out build/lab-nginx
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from bench import environment
from bench.applications.found import LEAST_REQUESTS, WINDOW_S, interval, percent, setting_text, window_s
from bench.applications.guest import GuestApplication, cpu_s, needs_more
from bench.command import chosen, flags_of
from bench.results import write_results
from rich.console import Console
from tests.end_to_end.lab.lab_agent import LabAgent, snapshot

from bayop import __version__
from bayop.applications.definition import DEFAULT as MEMCACHED
from bayop.applications.definition import Application, application_names, find_application
from bayop.cli import report_error
from bayop.cli.flags.agent import holder
from bayop.cli.live.display import Display
from bayop.confirm import DEFAULT
from bayop.errors import BayopError
from bayop.experiments.rig.experiment import run_experiment
from bayop.experiments.rig.record import LiveRecord, Point
from bayop.experiments.rig.summary import SEARCH, compare, cpu_saving, shortfall
from bayop.live.agent.address import Credentials
from bayop.live.file import LiveFile
from bayop.live.search import open_target
from bayop.live.service import Service
from bayop.objective import Objective
from bayop.optimize.base import Problem
from bayop.relative_slo import RelativeSlo
from bayop.report import DATA
from bayop.report.live.report import write_report
from bayop.saving import PairedSaving
from bayop.search import check_problem
from bayop.slo import Slo
from bayop.space import FREQ_MHZ, RX_USECS
from lab import Files, Machine
from lab.agent import add_agent
from lab.errors import LabError

_MODULE: Final = "bench.applications.lab"

_SHARE: Final = 0.3
"""The load, as a share of what a closed loop shows that it answers at most, of an application that names none."""

_CONNECTIONS: Final = 8
_RECORDS: Final = 1000
"""Few enough to be stored soon."""
_PEAK_S: Final = 4.0
_TIMES_DEFAULT: Final = 2.0
_DEFAULT_WINDOWS: Final = 6

_SWEEP: Final = {RX_USECS: (0, 200, 500), FREQ_MHZ: (1300, 2100, 2900)}
_CAVEAT: Final = (
    "This server is emulated: its kernel and drivers are real, but no frequency makes it faster or slower. So what a "
    "lower one costs clients is not in these numbers. Its power meter is the lab's law of how long its processors were "
    "busy and at which frequency, and its processor time is what the emulation takes."
)
_LIVE: Final = """\
agent = {agent}

[tls]
certificate = {certificate}
key = {key}
ca = {ca}

[knobs]
"nic.rx_usecs" = "0:1000:50"
"cpu.freq_mhz" = "all"

[load]
server = "127.0.0.1:{port}"
protocol = {protocol}
qps = {qps:g}
connections = {connections}
records = {records}
blocking = true             # a generator that polls would take a core from the emulation
{more}
[window]
window_s = {window_s:g}
settle_s = 1.0              # e1000e resets its link on every write of rx_usecs
most_windows = 1

[guard]
latency_factor = 10.0       # nobody is served here whom a pause of the emulation could harm
load_band = 0.5
"""

_COLUMNS: Final = (
    "application", "requests/s", "p99 of the default", "SLO", "held", "p99 there", "power", "saved (95 % interval)",
    "processor time a request", "saved of that (95 % interval)", "above the sweep's best", "pairs", "time",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """What was found of one application.

    Attributes:
        app: Its name.
        qps: The load.
        default_p99_us: Under the default, the median of its windows before the search.
        slo_us: Twice that.
        held: The setting that the search found; empty where none was trusted.
        trials: How many it took.
        verdict: What the windows in turns say of it; `nothing held` where there are none.
        p99_us: Under that setting, the median of the windows in turns.
        default_again_p99_us: Under the default meanwhile.
        power_w: Under the default, by the lab's law.
        power_saving: The share of it that is saved.
        power_saving_low: The lower end of its 95 % confidence interval.
        power_saving_high: The upper end.
        cpu_us: What the service takes for a request under the default.
        cpu_saving: The share of it that is saved.
        cpu_saving_low: The lower end of its 95 % confidence interval.
        cpu_saving_high: The upper end.
        shortfall: How much more power it takes than the best of the sweep, as a share.
        pairs: How many windows of each say so.
        duration_s: How long the sweep, the search and the turns took.
    """

    app: str
    qps: float
    default_p99_us: float
    slo_us: float
    held: str
    trials: int
    verdict: str
    p99_us: float | None
    default_again_p99_us: float | None
    power_w: float | None
    power_saving: float | None
    power_saving_low: float | None
    power_saving_high: float | None
    cpu_us: float | None
    cpu_saving: float | None
    cpu_saving_low: float | None
    cpu_saving_high: float | None
    shortfall: float | None
    pairs: int
    duration_s: float

    @classmethod
    def of(cls, record: LiveRecord, problem: Problem, default_p99_us: float) -> Row:
        """What a record says."""
        comparison = compare(record, problem)
        medians = comparison.medians if comparison else {}
        power, cpu = (_shares(s) for s in (comparison.saving if comparison else None, cpu_saving(record)))
        quantity = problem.slo.quantity
        return cls(
            app=record.application,
            qps=record.qps,
            default_p99_us=default_p99_us,
            slo_us=problem.slo.limit_us,
            held=setting_text(record.held),
            trials=len(record.search),
            verdict=comparison.verdict if comparison else "nothing held",
            p99_us=medians[SEARCH][quantity] if medians else None,
            default_again_p99_us=medians[DEFAULT][quantity] if medians else None,
            **dict(zip(("power_w", "power_saving", "power_saving_low", "power_saving_high"), power, strict=True)),
            **dict(zip(("cpu_us", "cpu_saving", "cpu_saving_low", "cpu_saving_high"), cpu, strict=True)),
            shortfall=shortfall(record, problem),
            pairs=comparison.saving.pairs if comparison and comparison.saving else 0,
            duration_s=record.duration_s,
        )


def main(argv: Sequence[str] | None = None) -> int:
    """Searches every application and writes the results."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    args = parser().parse_args(arguments)
    console = Console(stderr=True, highlight=False)
    out = args.out or environment.results_folder(Path(__file__).with_name("results") / "lab")
    rows: list[Row] = []
    try:
        names = chosen(args.apps, applications(), what="application for the lab", flag="--apps")
        rows.extend(measure(name, args, out / name) for name in names)
    except BayopError as error:
        report_error(error)
        return error.exit_code
    finally:
        if rows:
            write_results(_MODULE, arguments, {"raw": rows}, table(rows), out=out, console=console)
    return 0


def parser() -> argparse.ArgumentParser:
    """The flags."""
    result = flags_of(_MODULE, __doc__)
    result.add_argument("--agent-program", type=Path, required=True, metavar="FILE", help="the agent")
    known = ", ".join(applications())
    result.add_argument("--apps", default=MEMCACHED, metavar="NAME,...", help=f"of {known} (default: {MEMCACHED})")
    result.add_argument(
        "--qps",
        type=float,
        metavar="QPS",
        help="requests/s (default: the application's share of what it answers at most)",
    )
    least = f"{WINDOW_S:g}, or for {LEAST_REQUESTS} requests"
    result.add_argument("--window", type=float, metavar="S", help=f"how long one window is (default: {least})")
    result.add_argument("--max-trials", type=int, default=20, metavar="N", help="of the search (default: 20)")
    result.add_argument("--pairs", type=int, default=16, metavar="N", help="most pairs in turns (default: 16)")
    return result


def measure(app: str, args: argparse.Namespace, out: Path) -> Row:
    """Searches one application in a lab of its own, and writes record and report.

    Raises:
        BayopError: the lab, the application, the agent or the load has failed, or the machine is not as it was found.
    """
    guest = GuestApplication(find_application(app))
    with tempfile.TemporaryDirectory() as temporary:
        folder, files = Path(temporary), Files()
        access = add_agent(files, args.agent_program, folder / "certificates")
        guest.add_to(files)
        with Machine(files=files) as machine:
            agent = LabAgent(machine, access)
            agent.ensure_running()
            port = guest.start(machine)
            found = snapshot(machine)
            qps = args.qps or _share_of_peak(guest.application, port)
            length_s = args.window or window_s(qps)
            text = live_toml(guest.application, agent.address, agent.credentials, port=port, qps=qps, window_s=length_s)
            path = folder / "live.toml"
            path.write_text(text, encoding="utf-8")
            live = LiveFile.read(path)
            default_us = _default_p99_us(live)
            slo = Slo.parse(f"p99<{_TIMES_DEFAULT * default_us:.0f}us")
            service = Service(lambda: cpu_s(machine), counted="its control group in the lab")
            record, problem = _search(live, slo, service, app=app, args=args, out=out)
            status = agent.status()
            if snapshot(machine) != found or status["held"] or status["lease"] is not None:
                raise LabError(wrong=f"the machine is not as it was found; its agent says {json.dumps(status)}")
    return Row.of(record, problem, default_us)


def live_toml(
    application: Application, address: str, credentials: Credentials, *, port: int, qps: float, window_s: float
) -> str:
    """The file of a live search, as `bayop tune --target live.toml` reads it too.

    Args:
        application: What is asked.
        address: Of the agent.
        credentials: For it.
        port: Of 127.0.0.1, which leads to the application.
        qps: The load, in requests/s.
        window_s: How long one window is.
    """
    own = {"timeout_s": 5.0, **application.load}
    return _LIVE.format(
        agent=json.dumps(address),
        certificate=json.dumps(str(credentials.certificate)),
        key=json.dumps(str(credentials.key)),
        ca=json.dumps(str(credentials.ca)),
        port=port,
        protocol=json.dumps(application.protocol),
        qps=qps,
        connections=_CONNECTIONS,
        records=_RECORDS,
        more="".join(f"{key} = {json.dumps(value)}\n" for key, value in own.items()),
        window_s=window_s,
    )


def applications() -> list[str]:
    """Names of those that can be brought into the lab."""
    return [name for name in application_names() if needs_more(find_application(name)) is None]


def table(rows: Sequence[Row]) -> str:
    """The results in Markdown."""
    lines = [f"| {' | '.join(_COLUMNS)} |", f"|---{'|---:' * (len(_COLUMNS) - 1)}|"]
    for row in rows:
        cells = [row.app, f"{row.qps:,.0f}", f"{row.default_p99_us:,.0f} us", f"{row.slo_us:,.0f} us"]
        cells += [row.held or "nothing", "", "", row.verdict, "", "", "", "", f"{row.duration_s:.0f} s"]
        if row.p99_us is not None and row.power_w is not None and row.cpu_us is not None:
            saved = interval(row.power_saving, row.power_saving_low, row.power_saving_high)
            cells[5:12] = [
                f"{row.p99_us:,.0f} us", f"{row.power_w:.1f} W", f"{row.verdict}: {saved}", f"{row.cpu_us:,.0f} us",
                interval(row.cpu_saving, row.cpu_saving_low, row.cpu_saving_high), percent(row.shortfall),
                str(row.pairs),
            ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _share_of_peak(application: Application, port: int) -> float:
    """Of what a closed loop shows that the application answers at most, in requests/s."""
    share = application.live.share if application.live else _SHARE
    words = [sys.executable, "-m", "bayop", "load", "--server", f"127.0.0.1:{port}", "--json", "--blocking"]
    words += [
        "--closed-loop",
        "--connections",
        f"{_CONNECTIONS}",
        "--records",
        f"{_RECORDS}",
        "--warmup",
        "1s",
        "--time",
        f"{_PEAK_S:g}s",
    ]
    run = subprocess.run([*words, *application.load_flags], stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode != 0:
        raise LabError(wrong=f"bayop load on {application.name} in the lab ended with exit code {run.returncode}")
    result = json.loads(run.stdout.splitlines()[-1])
    return float(f"{share * result['counts']['answered'] / result['duration_s']:.2g}")


def _default_p99_us(live: LiveFile) -> float:
    """Of windows of the default: the median of their p99."""
    slo = RelativeSlo.parse(f"p99<{_TIMES_DEFAULT:g}*default")
    with open_target(live, slo, holder=holder("lab")) as target:
        windows = [target.baseline(), *(target.measure() for _ in range(_DEFAULT_WINDOWS - 1))]
    return median(window["p99_us"] for window in windows)


def _search(
    live: LiveFile, slo: Slo, service: Service, *, app: str, args: argparse.Namespace, out: Path
) -> tuple[LiveRecord, Problem]:
    with open_target(live, slo, holder=holder("lab"), service=service) as target:
        objective = Objective.parse("power", slo)
        problem = Problem(target.space.without_auto(), slo, objective, target.qps, small_steps=True)
        check_problem(target, problem, args.max_trials)
        record = LiveRecord(
            machine="the lab's emulated server (Debian's kernel, acpi-cpufreq, e1000e)",
            slo=str(slo),
            objective=objective.name,
            qps=problem.qps,
            seed=0,
            estimated=bool(target.estimated),
            busy_before=target.busy_before,
            default=Point.of({}, target.baseline()),
            most_pairs=args.pairs,
            application=app,
            link="an emulated 82574L",
            caveat=_CAVEAT,
        )
        display = Display(record, problem)
        grid = [dict(zip(_SWEEP, values, strict=True)) for values in itertools.product(*_SWEEP.values())]
        out.mkdir(parents=True, exist_ok=True)
        try:
            run_experiment(target, problem, grid, record, max_trials=args.max_trials, on_point=display.on_point)
        except BayopError as error:
            record.failure = error.message
            raise
        finally:
            (out / DATA).write_text(json.dumps(record.to_json(), allow_nan=False), encoding="utf-8")
            display.on_data(out / DATA)
    display.on_end(shortfall(record, problem), write_report(record, problem, out, __version__))
    return record, problem


def _shares(saving: PairedSaving | None) -> tuple[float | None, ...]:
    """What the reference takes, and the saving and the ends of its interval as shares of that."""
    if saving is None:
        return (None,) * 4
    return (saving.reference, saving.share, *(end / abs(saving.reference) for end in (saving.low, saving.high)))


if __name__ == "__main__":
    sys.exit(main())
