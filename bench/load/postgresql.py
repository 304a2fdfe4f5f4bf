"""`bayop load` beside pgbench on a PostgreSQL: queries/s, and what each of them takes of the generator's core.

A row by its primary key, asked for by PostgreSQL's simple query one after another on 16 connections. The server, all of
its processes on one core, is that of `bayop app start postgresql`. As in `bench.load.web`: rounds, the server's own
count, compare ratios. PostgreSQL is by far the limit, so that the generators differ in their processor time.

Debian's package postgresql is needed, and root to keep others off the cores.

Example:
  python -m bench.load.postgresql
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Final

from bench.command import Results, run_benchmark
from bench.load.beside import CONNECTIONS, SERVER_CPU, Row, flags_of_rounds, measure, table
from bench.load.processes import first_on
from rich.console import Console
from tests.support.servers import free_port, serving

from bayop.errors import UnsupportedError

_MODULE: Final = "bench.load.postgresql"

RECORDS: Final = 100_000
"""Of the application's table."""

_QUERY: Final = "SELECT balance FROM accounts WHERE id = {n}"
_COUNT: Final = "SELECT xact_commit FROM pg_stat_database WHERE datname = 'bayop'"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs every round and writes the results."""
    return run_benchmark(_MODULE, flags_of_rounds(_MODULE, __doc__, duration_s=9.0), argv, _measured)


def _measured(args: argparse.Namespace, console: Console) -> Results:
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not programs:
        raise UnsupportedError(wrong="PostgreSQL is not installed", hint="bayop app install postgresql")
    rows: list[Row] = []
    port = free_port()
    server = [sys.executable, "-m", "bayop", "app", "start", "postgresql", "--port", str(port)]
    with tempfile.TemporaryDirectory() as folder, serving(server, port, before=first_on(SERVER_CPU)):
        generators = commands(programs[-1], port, args.duration, Path(folder))
        for round_, (name, words) in product(range(1, args.rounds + 1), generators.items()):
            console.print(f"round {round_}: {name}")
            rows.append(Row("postgresql", 1, round_, name, *measure(words, partial(answered, port), args.duration)))
    return Results({"postgresql": rows}, table(rows))


def commands(programs: Path, port: int, duration_s: float, folder: Path) -> Mapping[str, list[str]]:
    """The generators by name."""
    script = folder / "query.sql"
    script.write_text(f"\\set n random(0, {RECORDS - 1})\n{_QUERY.format(n=':n')};\n", encoding="utf-8")
    who = ["-h", "127.0.0.1", "-p", str(port), "-U", "bayop"]
    pgbench = [str(programs / "pgbench"), *who, "-n", "-f", str(script), "-c", str(CONNECTIONS), "-j", "1"]
    load = [sys.executable, "-m", "bayop", "load", "-s", f"127.0.0.1:{port}", "--protocol", "postgresql"]
    load += ["--query", _QUERY, "--user", "bayop", "-r", str(RECORDS), "--closed-loop", "-c", str(CONNECTIONS)]
    load += ["-t", f"{duration_s:g}s", "-w", "0s"]
    return {"bayop": load, "bayop -B": [*load, "-B"], "pgbench": [*pgbench, "-T", f"{duration_s:.0f}", "bayop"]}


def answered(port: int) -> int:
    """How many queries the server has answered until a moment ago, as its processes say once a second."""
    psql = ["psql", "-h", "127.0.0.1", "-p", str(port), "-U", "bayop", "-Atc", _COUNT, "bayop"]
    return int(subprocess.run(psql, capture_output=True, text=True, check=True).stdout)


if __name__ == "__main__":
    sys.exit(main())
