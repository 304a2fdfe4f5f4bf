"""Real programs on the loopback interface, and what becomes of those that do not serve."""

from __future__ import annotations

import os
import pwd
import signal
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.support.needs import need
from tests.support.processes import lives
from tests.support.servers import free_port

from bayop.applications.definition import Application
from bayop.applications.serve import Service, prepare
from bayop.errors import InputError, UnsupportedError

PYTHON = "/usr/bin/python3"
"""Debian's: nobody may not run one in root's home."""

SERVER = """\
import os, socket, sys, time
from pathlib import Path

os.chdir(sys.argv[2])
if os.fork() == 0:
    os.setsid()  # a session of its own, as a daemon has
    Path("child").write_text(str(os.getpid()))
    time.sleep(1000)
while not Path("child").exists():
    time.sleep(0.01)
Path("parent").write_text(str(os.getpid()))
listener = socket.create_server((sys.argv[1], int(sys.argv[3])))
while True:
    listener.accept()[0].close()
    if Path("end").exists():
        sys.exit(int(Path("end").read_text()))
"""


@pytest.fixture
def application() -> Application:
    """A server with a child, which ends when its folder tells it how."""
    need(PYTHON, "setpriv")
    return Application(
        name="mine",
        licence="MIT",
        packages={"apt": ("python3",)},
        start=(PYTHON, "{folder}/server.py", "{address}", "{folder}", "{port}"),
        port=free_port(),
        protocol="http",
        files={"server.py": SERVER, "address": "{address}:{port}"},
    )


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that nobody may enter, unlike pytest's own."""
    with TemporaryDirectory(prefix="bayop-test-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def service(application: Application) -> Iterator[Service]:
    with Service(application, said=subprocess.DEVNULL) as service:
        yield service


def folder_of(service: Service) -> Path:
    words = Path(f"/proc/{server_of(service)}/cmdline").read_text(encoding="utf-8").split("\0")
    return Path(words[3])


def server_of(service: Service) -> int:
    supervisor = service._supervisor.pid
    return int(Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text(encoding="ascii").split()[0])


def test_its_files_are_filled_in_and_root_gives_them_and_itself_to_nobody(
    application: Application, tmp_path: Path
) -> None:
    words = prepare(application, address="10.0.0.1", folder=tmp_path).start
    assert words[words.index("--pdeathsig=KILL") + 1 :] == [
        PYTHON, f"{tmp_path}/server.py", "10.0.0.1", str(tmp_path), str(application.port)
    ]  # fmt: skip
    assert (tmp_path / "address").read_text() == f"10.0.0.1:{application.port}"
    owner = pwd.getpwuid((tmp_path / "address").stat().st_uid).pw_name
    is_root = os.geteuid() == 0
    assert owner == ("nobody" if is_root else pwd.getpwuid(os.geteuid()).pw_name)
    assert ("--reuid=nobody" in words) == is_root


def test_what_it_needs_is_prepared_once_by_nobody(
    application: Application, public: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cache = public / "cache" / "mine"
    monkeypatch.setattr("bayop.applications.serve.cache_folder", lambda _: cache)
    fill = "import os, sys; open(sys.argv[1] + '/user', 'w').write(str(os.getuid()))"
    application = replace(application, prepare=(PYTHON, "-c", fill, "{cache}"), start=("sh", "{cache}"))
    for said in ("mine is prepared for its first start\n", ""):
        (folder := public / f"folder{len(said)}").mkdir()
        words = prepare(application, address="10.0.0.1", folder=folder).start
        assert words[-1] == str(cache)
        assert capsys.readouterr().err == said
    user = pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else os.getuid()
    assert (cache / "user").read_text() == str(user)


def test_what_can_not_be_prepared_says_why_and_leaves_nothing(
    application: Application, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bayop.applications.serve.cache_folder", lambda _: tmp_path / "cache" / "mine")
    application = replace(application, prepare=(PYTHON, "-c", "import sys; sys.exit('no room')"))
    (tmp_path / "folder").mkdir()
    with pytest.raises(UnsupportedError) as caught:
        prepare(application, address="10.0.0.1", folder=tmp_path / "folder")
    assert caught.value.wrong == "mine can't be prepared: what prepares it ended with exit code 1"
    assert caught.value.hint == "no room"
    assert list((tmp_path / "cache").iterdir()) == []


def test_it_listens_and_ends_with_its_children_and_its_folder(application: Application) -> None:
    with Service(application, said=subprocess.DEVNULL) as service:
        folder = folder_of(service)
        pids = [int((folder / name).read_text()) for name in ("parent", "child")]
        assert pids[0] == server_of(service)
        socket.create_connection(("127.0.0.1", application.port), timeout=10).close()
        assert all(Path(f"/proc/{pid}").exists() for pid in pids)
    assert not any(lives(pid) for pid in pids)
    assert not folder.exists()


def test_it_runs_where_it_is_told_to(application: Application) -> None:
    cpu = max(os.sched_getaffinity(0))
    with Service(application, said=subprocess.DEVNULL, cpus=[cpu]) as service:
        assert os.sched_getaffinity(server_of(service)) == {cpu}
    with Service(application, said=subprocess.DEVNULL) as service:
        assert os.sched_getaffinity(server_of(service)) == os.sched_getaffinity(0)


@pytest.mark.parametrize("code", [0, 3])
def test_who_waits_learns_how_it_has_ended(service: Service, code: int) -> None:
    told = folder_of(service) / "told"
    told.write_text(str(code))
    told.rename(told.with_name("end"))  # at once: it may be looking already, for whoever asked whether it listens
    socket.create_connection(("127.0.0.1", service.application.port), timeout=10).close()
    assert service.wait().message == f"mine ended with exit code {code}"


def test_who_waits_learns_that_it_was_killed(service: Service) -> None:
    os.kill(server_of(service), signal.SIGKILL)
    assert service.wait().message == "mine was ended by signal 9"


def test_a_port_that_is_taken_is_said_and_nothing_is_started(service: Service) -> None:
    other = replace(service.application, start=(PYTHON, "-c", "never"))
    with pytest.raises(InputError, match=f"something listens on {service.address}; the port of mine must be free"):
        Service(other, said=subprocess.DEVNULL).__enter__()


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ((PYTHON, "-c", "exit(7)"), "mine ended with exit code 7 before it listened on 127.0.0.1:"),
        (("bayop-no-such-program",), "bayop-no-such-program is not installed"),
    ],
)
def test_one_that_does_not_serve_says_why(application: Application, start: tuple[str, ...], message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        Service(replace(application, start=start), said=subprocess.DEVNULL).__enter__()


def test_one_that_does_not_listen_is_not_waited_for_for_ever(
    application: Application,
) -> None:
    sleeping = replace(application, start=("sleep", "1000"), ready_within_s=0.3)
    with pytest.raises(UnsupportedError, match=r"mine does not listen on 127.0.0.1:\d+"):
        Service(sleeping, said=subprocess.DEVNULL).__enter__()


def test_what_it_says_of_itself_is_waited_for(application: Application) -> None:
    ready = ("sh", "-c", "[ -e {folder}/ready ] || { sleep 0.3; touch {folder}/ready; exit 1; }")
    with Service(replace(application, ready=ready), said=subprocess.DEVNULL) as service:
        assert (folder_of(service) / "ready").owner() == (folder_of(service) / "address").owner()
    never = replace(application, ready=("false",), ready_within_s=3.0)
    with pytest.raises(UnsupportedError, match=r"mine does not serve on 127.0.0.1:\d+"):
        Service(never, said=subprocess.DEVNULL).__enter__()
