"""`requirements/install-packages` gets what is missing when root asks, and else says which command would."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A folder of stand-ins: a Debian on which only util-linux is installed, and an apt-get that notes its words."""
    programs = {
        "dpkg-query": '[ "$3" != util-linux ] || printf installed',
        "apt-get": f'echo "$*" >>{tmp_path}/asked',
    }
    for name, text in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    return tmp_path


def install(
    machine: Path, *words: str, uid: int, script: str = "requirements/install-packages"
) -> subprocess.CompletedProcess[str]:
    (machine / "id").write_text(f"#!/bin/sh\necho {uid}\n", encoding="utf-8")
    (machine / "id").chmod(0o755)
    environment = {"PATH": f"{machine}:/usr/bin:/bin"}
    return subprocess.run([ROOT / script, *words], env=environment, capture_output=True, text=True, check=False)


def test_root_gets_what_is_missing_and_is_told(machine: Path) -> None:
    run = install(machine, "live", uid=0)
    assert run.returncode == 0
    assert run.stderr.rstrip().endswith(": ethtool iproute2 memcached")
    calls = (machine / "asked").read_text(encoding="utf-8").splitlines()
    assert calls[-1].startswith("install ")
    assert calls[-1].endswith(" ethtool iproute2 memcached")


def test_another_user_is_told_the_command(machine: Path) -> None:
    run = install(machine, "live", uid=1000)
    assert run.returncode == 4
    assert "hint: sudo apt-get install --no-install-recommends ethtool iproute2 memcached\n" in run.stderr
    assert not (machine / "asked").exists()


def test_what_can_do_without_goes_on(machine: Path) -> None:
    run = install(machine, "--or-go-on", "live", uid=1000)
    assert (run.returncode, run.stderr) == (0, "")


def test_nothing_is_asked_for_when_all_is_there(machine: Path) -> None:
    (machine / "dpkg-query").write_text("#!/bin/sh\nprintf installed\n", encoding="utf-8")
    assert (install(machine, "live", "test", uid=0).stderr, (machine / "asked").exists()) == ("", False)


def test_the_lab_gets_its_hosts_packages_likewise(machine: Path) -> None:
    run = install(machine, uid=1000, script="lab/install-packages")
    assert run.returncode == 4
    assert "hint: sudo apt-get install --no-install-recommends acpica-tools " in run.stderr
    assert " qemu-system-x86 xorriso zstd\n" in run.stderr
