"""`bayop app start` beside `bayop load`, and what is left of it however it ends: nothing."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.support.applications import SLOW, need_program
from tests.support.needs import need
from tests.support.patience import eventually
from tests.support.processes import descendants
from tests.support.schemas import closed
from tests.support.servers import free_port, load, result_of

from bayop.applications import definition
from bayop.applications.definition import application_names, find_application
from bayop.applications.scope import Scope, scope_of
from bayop.events.applications import LISTENING


@contextmanager
def started(name: str, *more: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """`bayop app start` once it has said that the application listens, and what it said."""
    need_program(find_application(name))
    words = [sys.executable, "-m", "bayop", "app", "start", name, "--port", str(free_port()), "--json", *more]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process, json.loads(process.stdout.readline())
        finally:
            process.kill()


def folders() -> set[Path]:
    return set(Path("/tmp").glob("bayop-app-*"))  # noqa: S108


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name != "nginx")) for name in application_names()]
)
def test_what_one_starts_the_other_loads(name: str) -> None:
    with started(name) as (process, said):
        Draft202012Validator(closed(LISTENING.schema())).validate(said)
        with scope_of("probe") as scope:
            assert ("cgroup" in said) is (scope is not None)
        assert "cgroup" not in said or Scope(Path(said["cgroup"])).cpu_s() > 0.0
        assert (said["name"], said["protocol"]) == (name, find_application(name).protocol)
        flags = [*find_application(name).load_flags, "-c", "2", "-w", "0s", "-r", "50"]
        flags += ["-q", "1", "-t", "5s"] if name in SLOW else ["-q", "300", "-t", "300ms"]
        result = result_of(load("-s", said["server"], *flags, "--json"))
        assert result["counts"]["answered"] > 0
        assert result["miss_ratio"] in {None, 0.0}
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 143


def test_the_echo_goes_on_when_its_client_reads_late() -> None:
    pieces, piece = 8_000, bytes(1_000)  # more than the kernel keeps for both ends
    with started("echo") as (_, said), socket.socket() as connection, ThreadPoolExecutor(1) as sender:
        address, port = said["server"].rsplit(":", 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        connection.settimeout(10.0)
        connection.connect((address, int(port)))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def send() -> None:
            for _ in range(pieces):
                connection.sendall(piece)

        sent = sender.submit(send)
        time.sleep(0.5)
        back = 0
        while back < pieces * len(piece):
            back += len(connection.recv(1 << 20))
        sent.result()


@pytest.mark.parametrize(
    ("number", "code", "message"),
    [(signal.SIGINT, 130, "interrupted\n"), (signal.SIGTERM, 143, ""), (signal.SIGKILL, -signal.SIGKILL, "")],
)
def test_however_it_ends_no_process_is_left(number: signal.Signals, code: int, message: str) -> None:
    before = folders()
    with started("nginx") as (process, _):
        ours = descendants(process.pid)
        (folder,) = [path for path in folders() - before if any(str(path) in command(pid) for pid in ours)]
        process.send_signal(number)
        _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (code, message)
    assert len(ours) >= 2
    assert eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in ours), within_s=10)
    assert folder.exists() == (number == signal.SIGKILL)
    if folder.exists():
        subprocess.run(["rm", "-r", folder], check=True)


def command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8")


def test_one_that_ends_by_itself_is_an_error() -> None:
    with started("memcached") as (process, _):
        *_, server = descendants(process.pid)
        subprocess.run(["kill", "-KILL", str(server)], check=True)
        output, errors = process.communicate(timeout=30)
    assert process.returncode == 1
    assert errors == "error: memcached was ended by signal 9\n"
    assert json.loads(output)["message"] == "memcached was ended by signal 9"


def test_what_it_says_when_it_fails_is_seen(tmp_path: Path) -> None:
    need("nginx")
    (tmp_path / "broken").mkdir()
    text = Path(definition.__file__).parent / "nginx" / "app.toml"
    (tmp_path / "broken" / "app.toml").write_text(text.read_text(encoding="utf-8").replace("daemon off", "demon off"))
    words = [sys.executable, "-m", "bayop", "app", "start", "broken", "--applications", str(tmp_path)]
    run = subprocess.run([*words, "--port", str(free_port())], capture_output=True, text=True, check=False)
    assert run.returncode == 4
    assert 'unknown directive "demon"' in run.stderr
    assert "error: broken ended with exit code 1 before it listened" in run.stderr
    assert "Traceback" not in run.stderr
