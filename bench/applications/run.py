"""What deferring interrupts saves of each application, live: `bayop live` under an SLO of twice the default's p99.

First the default alone says its p99; then a sweep and a search minimise the service's own processor time for a
request under the SLO, and default and result are measured again in turns: a virtual machine has no power meter.
Windows in which a hypervisor takes the processors away are measured again. Root, the applications' packages and an
otherwise idle machine are needed.

Example:
  python -m bench.applications.run --agent-program target/release/bayop-agent
  python -m bench.applications.run --agent-program target/release/bayop-agent --apps nodejs,tpcc --out build/apps
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any, Final

from bench.applications.found import interval, percent, setting_text, window_s
from bench.command import flags_of
from bench.results import write_results
from rich.console import Console

from bayop.cli import report_error
from bayop.errors import BayopError

_MODULE: Final = "bench.applications.run"

LOADS_QPS: Final = {
    "echo": 8000,
    "haproxy": 2000,
    "img-dnn": 200,
    "memcached": 8000,
    "nginx": 4000,
    "nodejs": 4000,
    "postgresql": 2000,
    "redis": 8000,
    "tpcc": 8000,
    "xapian": 300,
}
"""Up to a third of what each answers behind this pair of virtual devices; not sphinx, whose p99 takes hours."""

_OBJECTIVE: Final = "service_cpu / qps"
_TIMEOUTS_US: Final = (0, 100, 200, 300, 400, 800)

_COLUMNS: Final = (
    "application", "requests/s", "p99 of the default", "SLO", "held", "p99 there", "processor time a request",
    "saved of that (95 % interval)", "pairs", "stolen", "time",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """What was found of one application.

    Attributes:
        app: Its name.
        qps: The load.
        default_p99_us: Under the default, the median of its windows before the search.
        slo_us: Twice that.
        held: The setting that the search found; nothing where none was trusted.
        trials: How many it took.
        p99_us: Under that setting, the median of the windows in turns.
        default_again_p99_us: Under the default meanwhile.
        cpu_us: What the service takes for a request under the default.
        cpu_saving: The share of it that is saved.
        cpu_saving_low: The lower end of its 95 % confidence interval.
        cpu_saving_high: The upper end.
        pairs: How many windows of each say so.
        stolen: What the hypervisor took of the processors' time in all of them.
        duration_s: How long the sweep, the search and the turns took.
    """

    app: str
    qps: float
    default_p99_us: float
    slo_us: float
    held: str
    trials: int
    p99_us: float | None
    default_again_p99_us: float | None
    cpu_us: float | None
    cpu_saving: float | None
    cpu_saving_low: float | None
    cpu_saving_high: float | None
    pairs: int
    stolen: float | None
    duration_s: float

    @property
    def verdict(self) -> str:
        """In words."""
        if self.cpu_saving is None or self.cpu_saving_low is None or self.cpu_saving_high is None:
            return "nothing held"
        if self.p99_us is not None and self.p99_us > self.slo_us:
            return "over the SLO"
        if self.cpu_saving_low > 0.0:
            return "saves"
        return "costs" if self.cpu_saving_high < 0.0 else "no significant saving"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs every application and writes the results."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    flags = parser()
    args = flags.parse_args(arguments)
    if unknown := sorted(set(args.apps.split(",")) - LOADS_QPS.keys()):
        flags.error(f"--apps must be of {', '.join(LOADS_QPS)}, not {unknown[0]!r}")
    console = Console(stderr=True, highlight=False)
    rows = []
    try:
        for app in args.apps.split(","):
            console.print(f"{app} at {LOADS_QPS[app]} requests/s")
            rows.append(measure(app, args.agent_program, args.pairs, args.patience))
    except BayopError as error:
        report_error(error)
        return error.exit_code
    finally:
        if rows:
            write_results(_MODULE, arguments, {"raw": rows}, table(rows), out=args.out, console=console)
    return 0


def parser() -> argparse.ArgumentParser:
    """The flags."""
    result = flags_of(_MODULE, __doc__)
    result.add_argument("--agent-program", type=Path, required=True, metavar="FILE", help="the agent")
    result.add_argument("--apps", default=",".join(LOADS_QPS), metavar="NAME,...", help="default: all")
    result.add_argument("--pairs", type=int, default=32, metavar="N", help="most pairs in turns (default: 32)")
    result.add_argument(
        "--patience", default="2min", metavar="TIME", help="of each search, for the hypervisor (default: 2min)"
    )
    return result


def measure(app: str, agent_program: Path, pairs: int, patience: str) -> Row:
    """Searches one application.

    Raises:
        BayopError: `bayop live` has failed.
    """
    live = ("--agent-program", str(agent_program), "--patience", patience)
    alone = _live(app, "p99<1s", *live, "--timeouts", "0", "--max-trials", "1", "--confirm", "6")
    default_us = [_p99_us(point) for point in alone if point["event"] == "again" and not point["setting"]]
    if not default_us:
        raise BayopError(wrong=f"{app} does not answer within a second at {LOADS_QPS[app]} requests/s")
    slo_us = 2.0 * median(default_us)
    sweep = ("--timeouts", ",".join(map(str, _TIMEOUTS_US)))
    events = _live(app, f"p99<{slo_us:.0f}us", *live, *sweep, "--confirm", str(pairs))
    result, cpu = events[-1], events[-1]["cpu_saving"]
    turns = [event for event in events if event["event"] == "again" and event["setting"] in ({}, result["found"])]
    default, held = ([_p99_us(event) for event in turns if bool(event["setting"]) is found] for found in (False, True))
    stolen = [event["measured"]["stolen"] for event in turns if "stolen" in event["measured"]]
    return Row(
        app=app,
        qps=LOADS_QPS[app],
        default_p99_us=median(default_us),
        slo_us=slo_us,
        held=setting_text(result["found"]),
        trials=result["trials"],
        p99_us=median(held) if held else None,
        default_again_p99_us=median(default) if default else None,
        cpu_us=cpu and cpu["default"],
        cpu_saving=cpu and cpu["share"],
        cpu_saving_low=cpu and _share(cpu["low"], cpu),
        cpu_saving_high=cpu and _share(cpu["high"], cpu),
        pairs=cpu["pairs"] if cpu else 0,
        stolen=fmean(stolen) if stolen else None,
        duration_s=json.loads(Path(events[-2]["file"]).read_text(encoding="utf-8"))["duration_s"],
    )


def table(rows: Sequence[Row]) -> str:
    """The results in Markdown."""
    lines = [f"| {' | '.join(_COLUMNS)} |", f"|---{'|---:' * (len(_COLUMNS) - 1)}|"]
    for row in rows:
        found = [row.app, f"{row.qps:,.0f}", f"{row.default_p99_us:,.0f} us", f"{row.slo_us:,.0f} us"]
        found += [row.held or "nothing", "", "", row.verdict, "", "", f"{row.duration_s:.0f} s"]
        if row.cpu_saving is not None and row.p99_us is not None:
            saved = f"{row.verdict}: {interval(row.cpu_saving, row.cpu_saving_low, row.cpu_saving_high)}"
            found[5:10] = [
                f"{row.p99_us:,.0f} us", f"{row.cpu_us:,.1f} us", saved, str(row.pairs), percent(row.stolen)
            ]  # fmt: skip
        lines.append(f"| {' | '.join(found)} |")
    return "\n".join([*lines, ""])


def _live(app: str, slo: str, *flags: str) -> list[dict[str, Any]]:
    """The events of one run of `bayop live`."""
    out = Path("build") / "bench-applications" / app
    out.mkdir(parents=True, exist_ok=True)
    words = [
        *(sys.executable, "-m", "bayop", "live", "--app", app, "--load", f"{LOADS_QPS[app]}", "--slo", slo, "--json"),
        *("--objective", _OBJECTIVE, "--window", f"{window_s(LOADS_QPS[app]):g}s", "--out", str(out), *flags),
    ]
    run = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    events = [json.loads(line) for line in run.stdout.splitlines()]
    if not events or events[-1]["event"] != "result":
        raise BayopError(wrong=f"bayop live --app {app} ended with exit code {run.returncode}")
    return events


def _p99_us(event: dict[str, Any]) -> float:
    return float(event["measured"].get("p99_us", math.inf))


def _share(end: float | None, saving: dict[str, Any]) -> float | None:
    return None if end is None else end / abs(saving["default"])


if __name__ == "__main__":
    sys.exit(main())
