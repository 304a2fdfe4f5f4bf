"""Rewrites the tables and the figure of docs/policies.md from the rows of `bench.policies.run`.

    python -m bench.policies.page bench/policies/results/2026-11-23-2cpu-x86_64/rows.jsonl            writes them
    python -m bench.policies.page bench/policies/results/2026-11-23-2cpu-x86_64/rows.jsonl --check    exit code 1 if the
                                                                                                      tables differ

A table stands between `<!-- table: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.figures.run import write_themes
from bench.markdown import page_flags, rewrite_tables
from bench.policies.run import Row
from matplotlib.figure import Figure

from bayop.report.style import DEFAULT_COLOUR, INK, OS_COLOURS, SERIES, bayop_style
from bayop.report.svg import Drawing

PAGE: Final = Path("docs/policies.md")
FIGURES: Final = Path("docs/figures")
FLOOR: Final = "floor"
POLICIES: Final = ("default", "nmap", "static", "rubik", "rubik, best delay", "oracle, best delay", FLOOR)
CLOCKS: Final = (
    "static",
    "rubik",
    "rubik, transitions of 500 us",
    "rubik, a clock per package",
    "rubik, a clock per package, best delay",
)
_MARKS: Final[Mapping[str, tuple[str, str, str]]] = {
    "default": (DEFAULT_COLOUR, "v", "default"),
    "nmap": (*SERIES[0], "NMAP-like"),
    "static": (OS_COLOURS["linux"], "*", "one static setting (BayOp)"),
    "rubik": (*SERIES[1], "Rubik-like"),
    "rubik, best delay": (*SERIES[2], "Rubik-like, best delay"),
    FLOOR: (INK, "|", "floor"),
}


@dataclass(frozen=True, slots=True)
class Case:
    """One load and SLO of a service, with a row for each policy."""

    app: str
    qps: float
    slo_us: float
    rows: Mapping[str, Row]

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.qps / 1e3:g}K, p99 < {self.slo_us:g} us"


def read_cases(path: Path) -> list[Case]:
    """The cases in the order of the file."""
    rows = [Row(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    floors = {(row.app, row.qps): row for row in rows if not row.slo_us}
    cases: dict[tuple[str, float, float], dict[str, Row]] = {}
    for row in rows:
        if row.slo_us:
            case = cases.setdefault((row.app, row.qps, row.slo_us), {FLOOR: floors[row.app, row.qps]})
            case["nmap" if row.policy.startswith("nmap") else row.policy] = row
    return [Case(*key, policies) for key, policies in cases.items()]


def table(cases: Iterable[Case], policies: Sequence[str]) -> str:
    """Markdown: power in W, and the tail in brackets where it misses the SLO."""
    lines = ["| load, SLO | " + " | ".join(policies) + " |", "|---" * (1 + len(policies)) + "|"]
    for case in cases:
        cells = [_cell(case.rows[policy], floor=policy == FLOOR) for policy in policies]
        lines.append(f"| {case.name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def settings(cases: Iterable[Case]) -> str:
    """Markdown: what the static settings are."""
    lines = ["| service | load, SLO | delay | frequency | p99 | saved of default |", "|---|---|---|---|---|---|"]
    for case in cases:
        row, default = case.rows["static"], case.rows["default"]
        saved = 1.0 - row.power_w / default.power_w
        what = f"{row.rx_usecs:g} us | {row.freq_mhz / 1e3:g} GHz | {row.p99_us:.0f} us | {saved:.0%}"
        lines.append(f"| {case.app} | {case.name} | {what} |")
    return "\n".join(lines)


def _cell(row: Row, *, floor: bool) -> str:
    missed = "" if floor or row.meets else f" ({row.p99_us:.0f} us)"
    return f"{row.power_w:.1f}{missed}"


def drawing(cases: Sequence[Case]) -> Drawing:
    """Power of every policy in every case."""
    return Drawing(
        "policies",
        "One static setting against frequencies chosen at every request",
        "Power of memcached and silo at several loads and SLOs under six policies.",
        "",
        _draw(cases),
    )


@bayop_style()
def _draw(cases: Sequence[Case]) -> Figure:
    figure = Figure(figsize=(8.6, 3.6), layout="constrained")
    apps = list(dict.fromkeys(case.app for case in cases))
    for axes, app in zip(figure.subplots(1, len(apps)), apps, strict=True):
        some = [case for case in cases if case.app == app]
        for policy, (colour, marker, label) in _MARKS.items():
            places = [(case.rows[policy].power_w, y) for y, case in enumerate(some) if _counts(case, policy)]
            size = 120 if marker in "*|" else 36
            axes.scatter(*zip(*places, strict=True), s=size, c=colour, marker=marker, label=label, zorder=3)
        axes.set_yticks(range(len(some)), [case.name for case in some])
        axes.invert_yaxis()
        axes.set_xlabel("power (W)")
        axes.set_title(app, loc="left", fontweight="bold")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), columnspacing=1.2, handletextpad=0.2)
    return figure


def _counts(case: Case, policy: str) -> bool:
    return policy == FLOOR or case.rows[policy].meets


def tables(cases: Sequence[Case]) -> Iterator[tuple[str, str]]:
    """Names and texts of the page's tables."""
    for app in ("memcached", "silo"):
        yield app, table((case for case in cases if case.app == app), POLICIES)
    yield "clocks", table((case for case in cases if case.app == "memcached"), CLOCKS)
    yield "settings", settings(cases)


def main() -> int:
    """Writes or checks."""
    parser = page_flags(__doc__)
    parser.add_argument("rows", type=Path)
    args = parser.parse_args()
    cases = read_cases(args.rows)
    code = rewrite_tables(PAGE, {f"table: {name}": text for name, text in tables(cases)}, check=args.check)
    if not args.check:
        write_themes(drawing(cases), FIGURES)
    return code


if __name__ == "__main__":
    sys.exit(main())
