"""A clean Debian that this machine's kernel runs, with its own systemd, no compiler and no network."""

from __future__ import annotations

import json
import platform
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from tests.support.needs import need, program, require

ROOT: Final = Path(__file__).resolve().parents[2]
BOOT: Final = ROOT / "tests/end_to_end/boot_clean_root.sh"
CURL: Final = ["curl", "--silent", "--fail-with-body", "--unix-socket", "/run/bayop/agent.sock"]
IN_THE_ROOT: Final = ["systemd", "curl", "iproute2", "openssl", "python3"]
"""A server has systemd, and the brain needs Debian's Python; the others are for the tests."""

OTHERS: Final = (
    "/etc/machine-id",
    "/root/",
    "/var/cache/",
    "/var/lib/apt/",
    "/var/lib/dpkg/",
    "/var/lib/systemd/",
    "/var/log/",
)
"""What apt and systemd keep about every package and boot."""


class Machine:
    """A clean Debian that runs, and stops with this object's process."""

    def __init__(self, root: Path, scratch: Path) -> None:
        namespaces = ["--mount", "--pid", "--uts", "--ipc", "--net", "--cgroup", "--fork", "--kill-child"]
        boot = ["sh", str(BOOT), str(root), str(scratch)]
        self.unshare = subprocess.Popen(["unshare", *namespaces, *boot])
        self.wait_until(self.is_up)

    def wait_until(self, happened: Callable[[], bool]) -> None:
        deadline_s = time.monotonic() + 30
        while not happened():
            if self.unshare.poll() is not None or time.monotonic() > deadline_s:
                self.stop()
                pytest.fail("the clean root did not boot, or does not get there within 30 s", pytrace=False)
            time.sleep(0.05)

    def is_up(self) -> bool:
        if not self.systemd() or Path(f"/proc/{self.systemd()}/comm").read_text(encoding="ascii") != "systemd\n":
            return False
        # "degraded" is up too: some unit of Debian's own does not like to be in a namespace.
        return self.run("systemctl", "is-system-running", check=False).stdout in {"running\n", "degraded\n"}

    def systemd(self) -> str:
        pid = self.unshare.pid
        return Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").strip()

    def path(self, path: str) -> Path:
        return Path(f"/proc/{self.systemd()}/root{path}")

    def run(self, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        enter = ["nsenter", f"--target={self.systemd()}", "--all", "--root", "--wd"]
        env = {"PATH": "/usr/sbin:/usr/bin", "DEBIAN_FRONTEND": "noninteractive"}
        process = subprocess.run([*enter, *command], capture_output=True, text=True, env=env, check=False)
        assert not check or process.returncode == 0, f"{command}: {process.stdout}{process.stderr}"
        return process

    def apt(self, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return self.run("apt-get", "--quiet=2", "--yes", *command, check=check)

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        content = ["--header", "Content-Type: application/json", "--data", json.dumps(body)]
        answer: dict[str, Any] = json.loads(self.run(*CURL, *content, f"http://agent/v1/{path}").stdout)
        return answer

    def unit(self, name: str) -> str:
        return self.run("systemctl", "show", "--value", f"--property={name}", "bayop-agent").stdout.strip()

    def files(self) -> set[str]:
        paths = self.run("find", "/", "-xdev").stdout.splitlines()
        return {path for path in paths if not path.startswith(OTHERS)}

    def stop(self) -> None:
        self.unshare.send_signal(signal.SIGKILL)
        self.unshare.wait()


def own_release() -> str:
    """The Debian that packages are built on: here, or the test is skipped."""
    release = platform.freedesktop_os_release()
    require(release["ID"] == "debian", "the package is tried on the Debian that it was built on", "a Debian")
    return release["VERSION_CODENAME"]


def clean_root(codename: str) -> Path:
    """A minimal Debian, made once."""
    need("root")
    require(program("debootstrap") is not None, "debootstrap is not installed", "requirements/install-packages package")
    root = ROOT / "build" / "clean-root" / "+".join([codename, *IN_THE_ROOT])
    if not root.exists():
        unfinished = root.with_name("unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.parent.mkdir(parents=True, exist_ok=True)
        options = ["--variant=minbase", f"--include={','.join(IN_THE_ROOT)}"]
        subprocess.run(["debootstrap", *options, codename, unfinished], check=True)
        unfinished.rename(root)
    return root
