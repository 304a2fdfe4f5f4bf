"""`bayop load` beside wrk and h2load on a web server: requests/s, and what each of them takes of the generator's core.

A generator of one thread on one core, a server of one process on the other, which answers with five bytes. Each round
has every generator once, so that a disturbance hits all alike; compare ratios. Requests are the server's own count, in
the middle of a run. nginx sends every answer by a system call of its own and limits all of them: what they could do is
told by the processor time that a request takes of those that sleep, `bayop -B` among them; `bayop` polls. At `its
quickest` a server that answers all at once (bench/load/quick.py) leaves the limit to the generators.

Debian's packages nginx-light, wrk and nghttp2-client are needed, and root to keep others off the cores.

Example:
  python -m bench.load.web
  python -m bench.load.web --rounds 3 --duration 4 --out build/web
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Final

from bench.command import Results, run_benchmark
from bench.load.beside import CONNECTIONS, SERVER_CPU, Row, flags_of_rounds, measure, table
from bench.load.processes import first_on
from bench.load.quick import answered
from rich.console import Console
from tests.support.needs import program
from tests.support.servers import free_port, serving

from bayop.errors import UnsupportedError
from lab.certificates import Authority, Identity

_MODULE: Final = "bench.load.web"
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


Ports = Mapping[str, int]
Command = Callable[[Ports, int, float, Path], list[str]]


def _bayop(protocol: str, port: str, *flags: str) -> Command:
    def words(ports: Ports, depth: int, duration_s: float, _: Path) -> list[str]:
        how = ["--closed-loop", "-c", str(CONNECTIONS), "-d", str(depth), "-t", f"{duration_s:g}s", "-w", "0s", *flags]
        return [sys.executable, "-m", "bayop", "load", "-s", f"127.0.0.1:{ports[port]}", "--protocol", protocol, *how]

    return words


def _wrk(scheme: str, port: str) -> Command:
    def words(ports: Ports, depth: int, duration_s: float, folder: Path) -> list[str]:
        script = folder / "pipeline.lua"
        script.write_text(_PIPELINE.format(depth=depth), encoding="utf-8")
        how = ["-t", "1", "-c", str(CONNECTIONS), "-d", f"{duration_s:g}s"]
        return ["wrk", *how, *(["-s", str(script)] if depth > 1 else []), f"{scheme}://127.0.0.1:{ports[port]}/"]

    return words


def _h2load(scheme: str, port: str, *flags: str) -> Command:
    def words(ports: Ports, depth: int, duration_s: float, _: Path) -> list[str]:
        how = ["-t", "1", "-c", str(CONNECTIONS), "-m", str(depth), "-D", f"{duration_s:g}", *flags]
        return ["h2load", *how, f"{scheme}://127.0.0.1:{ports[port]}/"]

    return words


def _both(protocol: str, port: str, *flags: str) -> dict[str, Command]:
    return {"bayop": _bayop(protocol, port, *flags), "bayop -B": _bayop(protocol, port, *flags, "-B")}


@dataclass(frozen=True, slots=True)
class Contest:
    """Generators that ask one server.

    Attributes:
        protocol: As in `Row`.
        generators: By name.
        depths: As in `Row`.
        quick: Which quick server they ask; None where it is nginx.
    """

    protocol: str
    generators: Mapping[str, Command]
    depths: Sequence[int] = (1, 16)
    quick: str | None = None


def _http(port: str) -> Mapping[str, Command]:
    return {**_both("http", port), "wrk": _wrk("http", port), "h2load": _h2load("http", port, "--h1")}


def _https(port: str) -> Mapping[str, Command]:
    return {**_both("http", port, *_TLS), "wrk": _wrk("https", port), "h2load": _h2load("https", port, "--h1")}


_TLS: Final = ("--tls", "--insecure")
_DEEP: Final = (64, 256)
"""With fewer under way, the quick server is the limit."""
CONTESTS: Final[Sequence[Contest]] = (
    Contest("http", _http("http")),
    Contest("https", _https("https")),
    Contest("http2", {**_both("http2", "http2"), "h2load": _h2load("http", "http2")}),
    Contest("http2 in TLS", {**_both("http2", "https", *_TLS), "h2load": _h2load("https", "https")}),
    Contest("http at its quickest", _http("quick"), _DEEP, "quick"),
    Contest("https at its quickest", _https("quick_tls"), _DEEP, "quick_tls"),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs every round and writes the results."""
    return run_benchmark(_MODULE, flags_of_rounds(_MODULE, __doc__, duration_s=4.0), argv, _measured)


def _measured(args: argparse.Namespace, console: Console) -> Results:
    if missing := [name for name in ("nginx", "wrk", "h2load") if program(name) is None]:
        hint = "apt-get install nginx-light wrk nghttp2-client"
        raise UnsupportedError(wrong=f"{missing[0]} is not installed", hint=hint)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with servers(folder) as ports:
            for contest in CONTESTS:
                for depth in contest.depths:
                    console.print(f"{contest.protocol}, {depth} under way on each connection")
                    count = (
                        partial(answered, folder / contest.quick)
                        if contest.quick
                        else partial(_requests, ports["http"])
                    )
                    for round_, (name, command) in product(range(1, args.rounds + 1), contest.generators.items()):
                        words = command(ports, depth, args.duration, folder)
                        rows.append(Row(contest.protocol, depth, round_, name, *measure(words, count, args.duration)))
    return Results({"web": rows}, table(rows))


@contextmanager
def servers(folder: Path) -> Iterator[Ports]:
    """Starts nginx and the quick servers; their ports."""
    identity: Identity = Authority(folder / "authority").server()
    ports = {name: free_port() for name in ("http", "http2", "https", "quick", "quick_tls")}
    configuration = folder / "nginx.conf"
    configuration.write_text(_NGINX.format(folder=folder, identity=identity, **ports), encoding="utf-8")
    identities = {"quick": [], "quick_tls": [str(identity.certificate), str(identity.key)]}
    commands = {ports["http"]: ["nginx", "-c", str(configuration), "-e", str(folder / "log")]}
    for name, words in identities.items():
        quick = [sys.executable, "-m", "bench.load.quick", str(ports[name]), str(folder / name), *words]
        commands[ports[name]] = quick
    with ExitStack() as stack:
        for port, command in commands.items():
            stack.enter_context(serving(command, port, before=first_on(SERVER_CPU)))
        yield ports


def _requests(port: int) -> int:
    """What nginx has answered until now (its module stub_status)."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/status", timeout=5.0) as answer:
        match = re.search(r"^ (\d+) (\d+) (\d+) $", answer.read().decode(), re.MULTILINE)
    assert match is not None, "the third number is that of requests"
    return int(match[3])


if __name__ == "__main__":
    sys.exit(main())
