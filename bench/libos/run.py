"""What `bayop libos bench` counts, recorded: bench/libos/results/DATE-MACHINE.

    make libos && cargo build --release --package bayop-tpcc-server
    python -m bench.libos.run                            as root: QEMU gets a tap device in a namespace

It has the flags of `bayop libos bench`; without `--out` the results go to that folder.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench import environment
from bench.libos.costs import cells, layer_cells, table
from bench.libos.report import write_windows

from bayop.cli import report_error
from bayop.cli.libos import bench
from bayop.errors import BayopError


def main(arguments: Sequence[str] | None = None) -> int:
    """Counts, and writes each window and a table of them."""
    parser = argparse.ArgumentParser(prog="python -m bench.libos.run", description="Instructions of a request.")
    bench.add_arguments(parser)
    args = parser.parse_args(arguments)
    try:
        windows = bench.count_windows(args)
    except BayopError as error:
        report_error(error)
        return error.exit_code
    folder = args.out or environment.results_folder(Path(__file__).with_name("results"))
    environment.write(folder, "bench.libos.run", sys.argv[1:])
    write_windows(windows, folder)
    summary = f"{table(cells(windows))}\n\n{table(layer_cells(windows))}\n"
    (folder / "summary.md").write_text(summary)
    print(summary, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
