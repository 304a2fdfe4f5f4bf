"""`bayop load` beside wrk and h2load on a web server: requests/s, and what each of them takes of the generator's core.

A generator of one thread on one core, an nginx of one process on the other, which answers with five bytes. Each round
has every generator once, so that a disturbance hits all alike; compare ratios. Requests are the server's own count, in
the middle of a run. nginx sends every answer by a system call of its own and limits all of them: what they could do is
told by the processor time that a request takes of those that sleep, `bayop -B` among them; `bayop` polls.

Debian's packages nginx-light, wrk and nghttp2-client are needed, and root to keep others off the cores.

Example:
  python -m bench.load.web
  python -m bench.load.web --rounds 3 --duration 4 --out build/web
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from bench.load.processes import first_on
from bench.results import write_results
from rich.console import Console
from tests.support.needs import program
from tests.support.servers import free_port, serving

from bayop.experiments.rig.veth import process_cpu_s
from lab.certificates import Authority, Identity

CONNECTIONS: Final = 16
DEPTHS: Final = (1, 16)
"""Requests under way on each connection: by pipelining, and in HTTP/2 by streams."""

_CLIENT_CPU, _SERVER_CPU = 0, 1
_LEAST_S: Final = 3.0
"""Of a run: Python has started by the third of it."""

_NGINX: Final = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/log; user root;
events {{ worker_connections 256; }}
http {{
    access_log off; keepalive_requests 1000000000; tcp_nodelay on;
    client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
    uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    ssl_certificate {identity.certificate}; ssl_certificate_key {identity.key}; ssl_protocols TLSv1.3;
    server {{ listen 127.0.0.1:{http}; location / {{ return 200 hello; }} location /status {{ stub_status; }} }}
    server {{ listen 127.0.0.1:{http2} http2; location / {{ return 200 hello; }} }}
    server {{ listen 127.0.0.1:{https} ssl http2; location / {{ return 200 hello; }} }}
}}
"""
_PIPELINE: Final = """
init = function(arguments)
    local requests = {{}}
    for request = 1, {depth} do requests[request] = wrk.format("GET", "/") end
    together = table.concat(requests)
end
request = function() return together end
"""
"""wrk's own way of pipelining (its scripts/pipeline.lua)."""


@dataclass(frozen=True, slots=True)
class Row:
    """One run.

    Attributes:
        protocol: `http`, `https` (HTTP/1.1 in TLS 1.3), `http2` in clear, or `http2 in TLS`.
        depth: Requests under way on each connection.
        round: Runs of one round were neighbours in time.
        generator: Which.
        qps: Requests/s, by the server's count.
        cpu_us: The generator's processor time for each.
    """

    protocol: str
    depth: int
    round: int
    generator: str
    qps: float
    cpu_us: float


Ports = Mapping[str, int]
Command = Callable[[Ports, int, float, Path], list[str]]


def _bayop(protocol: str, port: str, *flags: str) -> Command:
    def words(ports: Ports, depth: int, duration_s: float, _: Path) -> list[str]:
        how = ["--closed-loop", "-c", str(CONNECTIONS), "-d", str(depth), "-t", f"{duration_s:g}s", "-w", "0s", *flags]
        return [sys.executable, "-m", "bayop", "load", "-s", f"127.0.0.1:{ports[port]}", "--protocol", protocol, *how]

    return words


def _wrk(scheme: str) -> Command:
    def words(ports: Ports, depth: int, duration_s: float, folder: Path) -> list[str]:
        script = folder / "pipeline.lua"
        script.write_text(_PIPELINE.format(depth=depth), encoding="utf-8")
        how = ["-t", "1", "-c", str(CONNECTIONS), "-d", f"{duration_s:g}s"]
        return ["wrk", *how, *(["-s", str(script)] if depth > 1 else []), f"{scheme}://127.0.0.1:{ports[scheme]}/"]

    return words


def _h2load(scheme: str, port: str, *flags: str) -> Command:
    def words(ports: Ports, depth: int, duration_s: float, _: Path) -> list[str]:
        how = ["-t", "1", "-c", str(CONNECTIONS), "-m", str(depth), "-D", f"{duration_s:g}", *flags]
        return ["h2load", *how, f"{scheme}://127.0.0.1:{ports[port]}/"]

    return words


def _both(protocol: str, port: str, *flags: str) -> dict[str, Command]:
    return {"bayop": _bayop(protocol, port, *flags), "bayop -B": _bayop(protocol, port, *flags, "-B")}


_TLS: Final = ("--tls", "--insecure")
GENERATORS: Final[Mapping[str, Mapping[str, Command]]] = {
    "http": {**_both("http", "http"), "wrk": _wrk("http"), "h2load": _h2load("http", "http", "--h1")},
    "https": {**_both("http", "https", *_TLS), "wrk": _wrk("https"), "h2load": _h2load("https", "https", "--h1")},
    "http2": {**_both("http2", "http2"), "h2load": _h2load("http", "http2")},
    "http2 in TLS": {**_both("http2", "https", *_TLS), "h2load": _h2load("https", "https")},
}
"""What speaks each protocol."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs every round and writes the results."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    flags = parser()
    args = flags.parse_args(arguments)
    if args.rounds < 1 or args.duration < _LEAST_S:
        flags.error(f"--rounds must be at least 1, and --duration {_LEAST_S:g}")
    if missing := [name for name in ("nginx", "wrk", "h2load") if program(name) is None]:
        flags.error(f"{missing[0]} is not installed: apt-get install nginx-light wrk nghttp2-client")
    console = Console(stderr=True, highlight=False)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with _nginx(folder) as ports:
            for protocol, generators in GENERATORS.items():
                for depth in DEPTHS:
                    console.print(f"{protocol}, {depth} under way on each connection")
                    for round_ in range(1, args.rounds + 1):
                        for generator, command in generators.items():
                            words = command(ports, depth, args.duration, folder)
                            rows.append(Row(protocol, depth, round_, generator, *measure(words, ports, args.duration)))
    write_results("bench.load.web", arguments, {"web": rows}, table(rows), out=args.out, console=console)
    return 0


def parser() -> argparse.ArgumentParser:
    """The flags."""
    result = argparse.ArgumentParser(
        prog="python -m bench.load.web", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    result.add_argument("--rounds", type=int, default=5, metavar="N", help="runs of each (default: 5)")
    result.add_argument("--duration", type=float, default=4.0, metavar="SECONDS", help="of a run (default: 4)")
    result.add_argument("--out", type=Path, metavar="FOLDER", help="default: results/<date>-<kind of machine>")
    return result


@contextmanager
def _nginx(folder: Path) -> Iterator[Ports]:
    identity: Identity = Authority(folder / "authority").server()
    ports = {name: free_port() for name in ("http", "http2", "https")}
    configuration = folder / "nginx.conf"
    configuration.write_text(_NGINX.format(folder=folder, identity=identity, **ports), encoding="utf-8")
    command = ["nginx", "-c", str(configuration), "-e", str(folder / "log")]
    with serving(command, ports["http"], before=first_on(_SERVER_CPU)):
        yield ports


def measure(words: Sequence[str], ports: Ports, duration_s: float) -> tuple[float, float]:
    """Runs a generator: requests/s, and its processor time for each in us, from a third to two thirds of the time."""
    quiet = subprocess.DEVNULL
    start_s = time.monotonic()
    with subprocess.Popen(
        words,
        stdout=quiet,
        stderr=quiet,
        preexec_fn=first_on(_CLIENT_CPU),  # noqa: PLW1509 -- no thread of this process holds a lock that it needs
    ) as process:
        seen = []
        for share in (1 / 3, 2 / 3):
            time.sleep(max(0.0, start_s + share * duration_s - time.monotonic()))
            seen.append((time.monotonic(), _requests(ports["http"]), process_cpu_s(process.pid, name=words[0])))
        process.wait(duration_s + 30.0)
    (then_s, before, cpu_before_s), (now_s, after, cpu_after_s) = seen
    count = after - before
    return count / (now_s - then_s), 1e6 * (cpu_after_s - cpu_before_s) / count


def _requests(port: int) -> int:
    """What nginx has answered until now (its module stub_status)."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/status", timeout=5.0) as answer:
        match = re.search(r"^ (\d+) (\d+) (\d+) $", answer.read().decode(), re.MULTILINE)
    assert match is not None, "the third number is that of requests"
    return int(match[3])


def table(rows: Sequence[Row]) -> str:
    """Medians of the rounds, in brackets the least and the greatest."""
    lines = [
        "| protocol | under way on each of 16 | generator | requests/s | bayop's are | its core for a request |",
        "|---|---:|---|---:|---:|---:|",
    ]
    own = {(row.protocol, row.depth, row.round): row.qps for row in rows if row.generator == "bayop"}
    for protocol, depth, generator in dict.fromkeys((row.protocol, row.depth, row.generator) for row in rows):
        runs = [row for row in rows if (row.protocol, row.depth, row.generator) == (protocol, depth, generator)]
        ratios = [own[protocol, depth, row.round] / row.qps for row in runs]
        lines.append(
            f"| {protocol} | {depth} | {generator} | {median(row.qps for row in runs):,.0f} "
            f"| {median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) x "
            f"| {median(row.cpu_us for row in runs):.2f} us |"
        )
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.exit(main())
