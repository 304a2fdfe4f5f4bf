"""What does counting stays in idle states cost?

Two processes on two CPUs wake each other in turns, so that both CPUs go idle as often as they can, while
`bayop-idle-count --cost` runs with windows of a second.

Example:
  make probe && python -m bench.idle_record.count
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from bench.command import flags_of
from bench.idle_record.players import ping_pong
from bench.results import write_results
from rich.console import Console

_WINDOWS: Final = 10
_BAR_PER_S: Final = 50_000.0


@dataclass(frozen=True, slots=True)
class Row:
    """One window.

    Attributes:
        stays_per_s: How many there were.
        kernel_ns_per_stay: What the programs took in the kernel, as it measures them.
        nothing_ns_per_stay: What it measures of programs that do nothing.
        reader_ns_per_stay: What the process took that reads the numbers.
    """

    stays_per_s: float
    kernel_ns_per_stay: float
    nothing_ns_per_stay: float
    reader_ns_per_stay: float

    @property
    def core_share(self) -> float:
        """Of a core, for 50,000 stays/s, without the measuring; what reading takes does not grow with them."""
        kernel_ns = _BAR_PER_S * (self.kernel_ns_per_stay - self.nothing_ns_per_stay)
        return (kernel_ns + self.stays_per_s * self.reader_ns_per_stay) / 1e9


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark and writes the results."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = flags_of("bench.idle_record.count", __doc__)
    parser.add_argument("--recorder", default="target/release/bayop-idle-count", metavar="FILE", help="the counter")
    args = parser.parse_args(arguments)
    with ping_pong():
        command = [args.recorder, "--cost", "--windows", str(_WINDOWS)]
        lines = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    rows = [_row(json.loads(line)) for line in lines[1:]]
    write_results(
        "bench.idle_record.count", arguments, {"raw": rows}, table(rows), out=args.out, console=Console(stderr=True)
    )
    return 0


def table(rows: Sequence[Row]) -> str:
    """The medians in Markdown."""
    cells = (
        f"{median(row.stays_per_s for row in rows):,.0f}",
        f"{median(row.kernel_ns_per_stay for row in rows):.0f} ns",
        f"{median(row.nothing_ns_per_stay for row in rows):.0f} ns",
        f"{median(row.reader_ns_per_stay for row in rows):.1f} ns",
        f"{median(row.core_share for row in rows):.2%}",
    )
    return (
        "| stays/s | a stay in the kernel | programs that do nothing | in the reader | of a core at 50,000 stays/s |\n"
        "|---:|---:|---:|---:|---:|\n"
        f"| {' | '.join(cells)} |\n"
    )


def _row(window: dict[str, object]) -> Row:
    stays, duration_s = window["stays"], window["duration_s"]
    count = sum(row[3] for row in stays)  # type: ignore[attr-defined]
    return Row(
        count / float(str(duration_s)),
        float(str(window["kernel_ns_per_stay"])),
        float(str(window["nothing_ns_per_stay"])),
        float(str(window["reader_ns_per_stay"])),
    )


if __name__ == "__main__":
    sys.exit(main())
