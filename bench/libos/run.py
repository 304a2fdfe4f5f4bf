"""Instructions that a request takes on the library OS and on Linux, by the number of connections.

    make libos && python -m bench.libos.run              a table; as root: QEMU gets a tap device in a namespace
    python -m bench.libos.run --systems libos            the library OS alone, which does not need the lab's packages
    python -m bench.libos.run --apps tpcc                TPC-C's transactions alone; memcached's requests are the other
    python -m bench.libos.run --write                    and bench/libos/results/DATE-MACHINE

The emulated processor counts (count.c), and the service's own statistics say how many requests there were in the same
time. What is counted is all that the machine executes, its sleeps and wake-ups too. Linux runs in the same machine:
one processor, the same NIC. memcached's load is Facebook's ETC (sizes, share of updates), that of TPC-C the mix of its
transactions, at a constant rate, spread over all connections, of which most are idle where they are many.
"""

from __future__ import annotations

import argparse
import json
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from bench import environment
from bench.libos.apps import APPS, App
from bench.libos.linux import LINUX, Linux

from bayop.cli import report_error
from bayop.errors import BayopError, UnsupportedError
from bayop.experiments.rig.veth import Namespace, missing
from lab.libos import LibraryOs

HERE = Path(__file__).resolve().parent
LIBRARY_OS = "libos"
SYSTEMS = (LIBRARY_OS, *LINUX)
SETTLE_S = 4.0
"""Until what opening connections and storing records has left behind is done."""
_SPARE_S = 15.0
"""How much longer the load may last than the window: it ends when the window does, on a busy machine later."""


@dataclass(frozen=True)
class Window:
    """What was counted in one window.

    Args:
        app: One of `APPS`.
        system: One of `SYSTEMS`.
        connections: How many were open.
        qps: The load that was offered, in requests per second.
        requests: How many were served.
        instructions_per_request: What the processor executed for each.
        halts_per_request: How often it went to sleep for each.
    """

    app: str
    system: str
    connections: int
    qps: float
    requests: int
    instructions_per_request: float
    halts_per_request: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Counts, prints a table, and writes results when asked to."""
    parser = argparse.ArgumentParser(prog="python -m bench.libos.run", description="Instructions of a request.")
    parser.add_argument("--apps", nargs="+", choices=APPS, default=tuple(APPS))
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=SYSTEMS)
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 16, 64, 1000], metavar="N")
    parser.add_argument("--qps", type=float, default=1000.0)
    parser.add_argument("--window-s", type=float, default=3.0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="write bench/libos/results/DATE-MACHINE")
    options = parser.parse_args(arguments)
    try:
        apps = [APPS[name] for name in options.apps]
        windows = count(apps, options.systems, options.connections, options.qps, options.window_s, options.repeats)
    except BayopError as error:
        report_error(error)
        return error.exit_code
    print(summary(windows))
    if options.write:
        folder = environment.results_folder(HERE / "results")
        environment.write(folder, "bench.libos.run", sys.argv[1:])
        lines = (json.dumps(asdict(window)) for window in windows)
        (folder / "windows.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (folder / "summary.md").write_text(summary(windows) + "\n", encoding="utf-8")
    return 0


def count(
    apps: Sequence[App],
    systems: Sequence[str],
    connections: Sequence[int],
    qps: float,
    window_s: float,
    repeats: int,
) -> list[Window]:
    """Windows of each service on each system at each number of connections, each with a machine of its own.

    The systems take turns, so that what else this machine does falls on all of them.
    """
    reason = missing(["cc", "qemu-system-x86_64"])
    if reason is not None:
        raise UnsupportedError(wrong=f"this machine can't count: {reason}", hint=reason)
    with tempfile.TemporaryDirectory(prefix="bayop-libos-bench-") as folder:
        plugin, counters = Path(folder, "count.so"), Path(folder, "counters")
        compiler = ["cc", "-O2", "-Wall", "-Werror", "-fPIC", "-shared", "-o", str(plugin), str(HERE / "count.c")]
        subprocess.run(compiler, check=True)
        linux = None if systems == [LIBRARY_OS] else Linux(Path(folder))
        namespace = Namespace()
        try:
            return [
                one(
                    namespace,
                    plugin,
                    counters,
                    app=app,
                    system=system,
                    kernel=() if system == LIBRARY_OS or linux is None else linux.boot(system, app),
                    connections=number,
                    qps=qps,
                    window_s=window_s,
                )
                for app in apps
                for number in connections
                for _ in range(repeats)
                for system in systems
            ]
        finally:
            namespace.close()


def one(
    namespace: Namespace,
    plugin: Path,
    counters: Path,
    *,
    app: App,
    system: str,
    kernel: Sequence[str],
    connections: int,
    qps: float,
    window_s: float,
) -> Window:
    """One window."""
    with LibraryOs(
        f"app={app.name}",
        inside=namespace.command([]),
        arguments=("-plugin", f"{plugin},out={counters}"),
        kernel=kernel,
    ) as machine:
        address = machine.address(app.port)
        words = f"load -s {address} {app.load} -q {qps:g} -c {connections} -w {SETTLE_S + 1:g}s".split()
        command = [shutil.which("bayop") or "bayop", *words, "-t", f"{window_s + _SPARE_S:g}s", "--json"]
        with subprocess.Popen(namespace.command(command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as load:
            while not app.is_loaded(namespace, address, connections):
                must_run(load)
                time.sleep(0.2)
            time.sleep(SETTLE_S)
            first = app.served(namespace, address), *look(counters)
            time.sleep(window_s)
            last = app.served(namespace, address), *look(counters)
            must_run(load)
            load.kill()
        namespace.run("ip", "link", "delete", "libos0")
    requests, instructions, halts = (after - before for before, after in zip(first, last, strict=True))
    return Window(app.name, system, connections, qps, requests, instructions / requests, halts / requests)


def must_run(load: subprocess.Popen[bytes]) -> None:
    """The load must not have ended.

    Raises:
        BayopError: It has.
    """
    if load.poll() is not None:
        said = load.communicate()[0].decode().strip()
        raise BayopError(wrong=f"the load generator ended early: {said}", hint="on a quieter machine, again")


def look(counters: Path) -> tuple[int, int]:
    """Instructions executed and halts, until now."""
    instructions, halts = struct.unpack("QQ", counters.read_bytes())
    return instructions, halts


def summary(windows: Sequence[Window]) -> str:
    """A table of medians, and the least and the most of each."""
    lines = [
        "| app | system | connections | requests/s | instructions a request | least to most | sleeps a request |",
        "|---|---|---|---|---|---|---|",
    ]
    rows: dict[tuple[str, str, int], list[Window]] = {}
    for window in windows:
        rows.setdefault((window.app, window.system, window.connections), []).append(window)
    for (app, system, connections), found in rows.items():
        instructions = sorted(window.instructions_per_request for window in found)
        halts = median(window.halts_per_request for window in found)
        lines.append(
            f"| {app} | {system} | {connections:,} | {found[0].qps:g} | {median(instructions):,.0f} "
            f"| {instructions[0]:,.0f} to {instructions[-1]:,.0f} | {halts:.2f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
