"""`bayop app install` with the real apt, on this machine, but that nothing of it is left: a package that it makes."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from textwrap import dedent

import pytest
from tests.support.needs import need, require

BESIDE = Path(__file__).with_name("install_beside.sh")
ENDS = "\n=== "
"""Before what the script looks at when the command has ended."""

LOOK = f"""
"$@"
code=$?
started=$(cat /var/started 2>/dev/null || echo off)
unit=$(systemctl is-enabled bayop-hello.service 2>/dev/null || true)
policy=$(ls /usr/sbin/policy-rc.d 2>/dev/null || echo none)
printf '{ENDS}%s %s %s %s\n' $code "$started" "$unit" "$policy"
"""
UNIT = """
[Service]
ExecStart=/usr/bin/bayop-hello
[Install]
WantedBy=multi-user.target
"""
# As debhelper writes it for a package with a unit and an init script.
POSTINST = """
#!/bin/sh
set -e
update-rc.d bayop-hello defaults >/dev/null
deb-systemd-helper enable bayop-hello.service
invoke-rc.d bayop-hello start
"""
INIT = """
#!/bin/sh
### BEGIN INIT INFO
# Provides: bayop-hello
# Required-Start:
# Required-Stop:
# Default-Start: 2 3 4 5
# Default-Stop: 0 1 6
### END INIT INFO
[ "$1" != start ] || echo on >/var/started
"""
APPLICATION = """
licence = "MIT"
start = ["bayop-hello"]
port = 8080
protocol = "http"
[packages]
apt = ["bayop-hello"]
"""
CONTROL = """
Package: bayop-hello
Version: 1
Architecture: all
Maintainer: a test <test@example.org>
Description: a service that starts when it is installed
"""


def write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text).lstrip(), encoding="utf-8")
    path.chmod(mode)


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that apt reads: a package with a service, as Debian's are."""
    need("root", "apt-get", "dpkg-deb", "systemctl")
    folder = tmp_path_factory.mktemp("packages")
    root = folder / "bayop-hello"
    write(root / "DEBIAN/control", CONTROL)
    write(root / "DEBIAN/postinst", POSTINST, 0o755)
    write(root / "usr/bin/bayop-hello", "#!/bin/sh\nsleep 1000\n", 0o755)
    write(root / "etc/init.d/bayop-hello", INIT, 0o755)
    write(root / "lib/systemd/system/bayop-hello.service", UNIT)
    built = folder / "bayop-hello.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", root, built], capture_output=True, check=True)
    size, digest = built.stat().st_size, sha256(built.read_bytes()).hexdigest()
    write(folder / "Packages", f"{CONTROL}Filename: ./bayop-hello.deb\nSize: {size}\nSHA256: {digest}\n")
    folder.chmod(0o755)
    return folder


@pytest.fixture
def applications(tmp_path: Path) -> Path:
    write(tmp_path / "mine/hello/app.toml", APPLICATION)
    return tmp_path / "mine"


def run(packages: Path, folder: Path, *command: str, answer: str | None = None) -> tuple[str, list[str], str]:
    """What a command printed, what was there then (exit code, service, unit, policy), and its errors."""
    (folder / "scratch").mkdir(exist_ok=True)
    words = ["unshare", "--mount", "sh", str(BESIDE), str(folder / "scratch"), str(packages), "sh", "-c", LOOK, "sh"]
    ours, theirs = pty.openpty()
    try:
        os.write(ours, f"{answer}\n".encode())
        done = subprocess.run(
            [*words, *command], stdin=subprocess.DEVNULL if answer is None else theirs, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
    finally:
        os.close(ours)
        os.close(theirs)
    require("overlay" not in done.stderr, "no overlay can be mounted here", "sudo make test")
    printed, found, seen = done.stdout.partition(ENDS)
    assert found, done.stderr
    return printed, seen.split(), done.stderr


def bayop(*words: str) -> list[str]:
    return [sys.executable, "-m", "bayop", "app", *words]


def test_debian_starts_what_it_installs(packages: Path, tmp_path: Path) -> None:
    _, seen, _ = run(packages, tmp_path, "apt-get", "install", "--quiet=2", "--yes", "bayop-hello")
    assert seen == ["0", "on", "enabled", "none"]


def test_what_bayop_installs_is_off_and_nothing_of_it_is_left(
    packages: Path, applications: Path, tmp_path: Path
) -> None:
    words = bayop("install", "hello", "--applications", str(applications), "--yes", "--json")
    printed, seen, errors = run(packages, tmp_path, *words)
    assert seen == ["0", "off", "disabled", "none"], errors
    assert json.loads(printed) == {
        "event": "installed", "name": "hello", "path": "/usr/bin/bayop-hello", "brought": ["bayop-hello"],
        "disabled": ["bayop-hello.service"],
    }  # fmt: skip
    assert errors.startswith("hello (MIT) brings 1 package: bayop-hello\n")


@pytest.mark.slow
def test_a_person_is_asked_first(packages: Path, applications: Path, tmp_path: Path) -> None:
    words = bayop("install", "hello", "--applications", str(applications))
    printed, seen, errors = run(packages, tmp_path, *words, answer="n")
    assert (printed.strip(), seen) == ("", ["1", "off", "none"]), errors
    assert errors.endswith("Install them? [y/N] nothing was installed\n")
    printed, seen, errors = run(packages, tmp_path, *words, answer="y")
    assert seen == ["0", "off", "disabled", "none"], errors
    assert printed.splitlines() == [
        "hello is installed: /usr/bin/bayop-hello",
        "bayop-hello.service is off; systemctl enable --now bayop-hello.service has it serve beside bayop",
    ]


def test_without_a_terminal_somebody_has_to_say_yes(packages: Path, applications: Path, tmp_path: Path) -> None:
    words = bayop("install", "hello", "--applications", str(applications), "--json")
    printed, seen, errors = run(packages, tmp_path, *words)
    assert seen[:2] == ["2", "off"], errors
    assert json.loads(printed)["hint"] == "add --yes"
