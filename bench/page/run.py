"""The page of `bayop run` in a real Chromium: how soon something is seen, what viewers cost, what axe-core finds wrong.

A real `bayop run` beside the real agent on a recorded machine has a service that it has searched and holds, and one
that it observes. First one visitor after the other opens the list of services or the page of one, light or dark, wide
or narrow, with nothing in a cache. Then the daemon's processor time is counted, in turns with nobody there and with
some tabs open, each with a connection of its own. Nothing is polished meanwhile, which takes time of its own.

Each visit and each count is written as soon as it is over, so that a run that is broken off keeps those.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import cycle, islice, product
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from bench.command import Results, count, flags_of, run_benchmark
from bench.results import write_folder
from rich.console import Console
from tests.support.agents import CLIENTS, AgentProcess, Machine
from tests.support.needs import program
from tests.support.page import LATEST_S, NARROW, Run, chromium, first_paint_ms, running, violations
from tests.support.patience import eventually

from bayop.errors import UnsupportedError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_MODULE: Final = "bench.page.run"
_WIDE: Final = {"width": 1280, "height": 800}
_SETTLE_S: Final = 2.0
_COLUMNS: Final = (
    "visits", "first paint ms, median", "worst", "axe: violations", "viewers", "of a core with nobody there",
    "with viewers",
)  # fmt: skip
_SERVICE: Final = """\
[service.{name}]
agent = "{agent}"
latency = '''{latency}'''
slo = "p99<200us"
mode = "{mode}"
[service.{name}.knobs]
"power.cap_w" = "60:120:5"
[service.{name}.window]
window_s = 0.2
settle_s = 0.05
[service.{name}.policy]
watch_s = {window_s:g}
polish = 0
"""
EXAMPLES: Final = """\
example:
  make extras && sudo requirements/install-packages browser && cargo build --release --package bayop-agent
  python -m bench.page.run target/release/bayop-agent
"""


@dataclass(frozen=True, slots=True)
class Visit:
    """Somebody opened the page.

    Attributes:
        of: The list of `services`, or one `service`.
        scheme: `light` or `dark`.
        width_px: How wide the window was.
        first_paint_ms: When something was seen.
        violations: How much axe-core found wrong when all was there.
    """

    of: str
    scheme: str
    width_px: int
    first_paint_ms: float
    violations: int


@dataclass(frozen=True, slots=True)
class Watched:
    """The daemon's processor time for a while.

    Attributes:
        viewers: How many tabs were open.
        duration_s: For how long, in s.
        core_share: The share of a core that it took, without its sources of latency.
    """

    viewers: int
    duration_s: float
    core_share: float


@dataclass(slots=True)
class Record:
    """What is known so far."""

    visits: list[Visit] = field(default_factory=list)
    watched: list[Watched] = field(default_factory=list)

    @property
    def results(self) -> Results:
        """The tables that have rows, and the summary."""
        tables: dict[str, Sequence[DataclassInstance]] = {"visits": self.visits, "watched": self.watched}
        return Results({name: rows for name, rows in tables.items() if rows}, table(self))


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark and writes its results."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    flags = flags_of(_MODULE, __doc__, examples=EXAMPLES)
    flags.add_argument("agent", type=Path, help="the release build")
    flags.add_argument("--visits", type=count, default=40, metavar="N", help="how many (default: 40)")
    flags.add_argument("--viewers", type=count, default=10, metavar="N", help="tabs at once (default: 10)")
    flags.add_argument("--rounds", type=count, default=3, metavar="N", help="counts of both (default: 3)")
    flags.add_argument("--count-s", type=float, default=60.0, metavar="S", help="what one takes, in s (default: 60)")
    flags.add_argument(
        "--window-s", type=float, default=60.0, metavar="S", help="of what is held, in s (default: 60, as of bayop run)"
    )

    def measured(args: argparse.Namespace, console: Console) -> Results:
        record = Record()
        for line in measure(args, record):
            console.print(line)
            write_folder(_MODULE, arguments, *record.results, out=args.out)
        return record.results

    return run_benchmark(_MODULE, flags, arguments, measured)


def measure(args: argparse.Namespace, record: Record) -> Iterator[str]:
    """Measures one thing after the other; what people are told of each.

    Raises:
        UnsupportedError: there is no browser.
    """
    if program("chromium") is None:
        raise UnsupportedError(wrong="chromium is not installed", hint="requirements/install-packages browser")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        machine = stack.enter_context(Machine(folder / "root"))
        agent = stack.enter_context(AgentProcess(args.agent.resolve(), folder, machine.root))
        clients = folder / "clients.py"
        clients.write_text(CLIENTS, encoding="utf-8")
        latency = shlex.join([sys.executable, "-S", "-I", str(clients)])
        values = {"agent": agent.address, "latency": latency, "window_s": args.window_s}
        services = "".join(
            _SERVICE.format(name=name, mode=mode, **values) for name, mode in (("web", "apply"), ("looker", "observe"))
        )
        run = stack.enter_context(running(folder, services))
        browser = stack.enter_context(chromium())
        if not eventually(lambda: run.doing()["web"] == "hold", within_s=LATEST_S):
            raise UnsupportedError(wrong="nothing is held")
        kinds = product(("services", "service"), ("light", "dark"), (_WIDE, NARROW))
        for number, (of, scheme, viewport) in enumerate(islice(cycle(kinds), args.visits), start=1):
            seen = visit(browser, run, of, scheme, viewport)
            record.visits.append(seen)
            yield f"visit {number} of {args.visits}: {seen.first_paint_ms:.0f} ms, {seen.violations} violations"
        for viewers in args.rounds * (0, args.viewers):
            watched = watch(browser, run, viewers, args.count_s)
            record.watched.append(watched)
            yield f"{viewers} viewers: {watched.core_share:.2%} of a core"


def visit(browser: Any, run: Run, of: str, scheme: str, viewport: dict[str, int]) -> Visit:  # noqa: ANN401
    """Opens the page, with nothing in a cache."""
    page = browser.new_page(color_scheme=scheme, viewport=viewport)
    page.set_default_timeout(1000 * LATEST_S)
    page.goto(run.url + ("#/web" if of == "service" else ""))
    if of == "service":
        page.get_by_role("img", name="The path of").wait_for()
    else:
        page.get_by_role("link", name="looker").wait_for()
    seen = Visit(of, scheme, viewport["width"], first_paint_ms(page), len(violations(page)))
    page.close()
    return seen


def watch(browser: Any, run: Run, viewers: int, duration_s: float) -> Watched:  # noqa: ANN401
    """Counts the daemon's processor time with so many tabs open, half of them of the list."""
    with ExitStack() as stack:
        for number in range(viewers):
            # A browser has six connections to a host at most, and a stream takes one: each viewer has a profile.
            page = browser.new_page()
            stack.callback(page.close)
            page.goto(run.url + ("#/web" if number % 2 else ""))
            page.get_by_role("link", name="All services" if number % 2 else "looker").first.wait_for()
        time.sleep(_SETTLE_S)
        if (streams := _streams(run)) < viewers:
            raise UnsupportedError(wrong=f"only {streams} of {viewers} viewers are told anything")
        began_s, before_s = time.monotonic(), run.cpu_s()
        time.sleep(duration_s)
        took_s = time.monotonic() - began_s
        return Watched(viewers, took_s, (run.cpu_s() - before_s) / took_s)


def _streams(run: Run) -> int:
    """How many connections the page's port has, by proc(5), net/tcp."""
    port = f"{int(run.url.rstrip('/').rsplit(':', 1)[1]):04X}"
    rows = [line.split() for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]]
    return sum(row[1].endswith(f":{port}") and row[3] == "01" for row in rows)


def table(record: Record) -> str:
    """The summary."""
    paints_ms = [each.first_paint_ms for each in record.visits]
    viewers = max((each.viewers for each in record.watched), default=0)
    alone, looked_at = ([w.core_share for w in record.watched if (w.viewers > 0) is seen] for seen in (False, True))
    cells = [
        str(len(paints_ms)),
        f"{median(paints_ms):.0f}" if paints_ms else "-",
        f"{max(paints_ms):.0f}" if paints_ms else "-",
        str(sum(each.violations for each in record.visits)),
        str(viewers or "-"),
        f"{median(alone):.2%}" if alone else "-",
        f"{median(looked_at):.2%}" if looked_at else "-",
    ]
    return f"| {' | '.join(_COLUMNS)} |\n{'|---:' * len(_COLUMNS)}|\n| {' | '.join(cells)} |\n"


if __name__ == "__main__":
    sys.exit(main())
