"""Real control groups where they can be made, and none where they can't."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.needs import need, require
from tests.support.patience import eventually

from bayop.applications import scope as scopes
from bayop.applications.scope import Scope, scope_of

BURN = "import time; ends = time.process_time() + 0.2\nwhile time.process_time() < ends: pass"


@pytest.fixture(autouse=True)
def _possible() -> None:
    need("root")
    with scope_of("probe") as scope:
        require(scope is not None, "no control group of version 2 can be made here", "mount -t cgroup2")


def here() -> Scope:
    with scope_of("mine") as scope:
        assert scope is not None
    return scope


def test_what_has_ended_counts_too() -> None:
    with scope_of("mine") as scope:
        assert scope is not None
        assert not scope.is_populated()
        subprocess.run(scope.command([sys.executable, "-c", BURN]), check=True)
        assert scope.cpu_s() >= 0.2
        other = subprocess.Popen([sys.executable, "-c", BURN])
        other.wait()
        assert scope.cpu_s() < 0.4, "only what was started in it"
    assert not scope.path.exists()


def test_its_end_ends_what_is_left_in_it() -> None:
    with scope_of("mine") as scope:
        assert scope is not None
        left = subprocess.Popen(scope.command(["setsid", "--fork", "sleep", "1000"]))
        left.wait()
        assert eventually(scope.is_populated, within_s=5.0)
    assert not scope.path.exists()
    assert not scope.is_populated()
    with pytest.raises(OSError, match="No such file"):
        scope.cpu_s()


def test_two_of_one_name_are_two() -> None:
    with scope_of("mine") as one, scope_of("mine") as two:
        assert one is not None
        assert two is not None
        assert one.path != two.path


def test_what_a_killed_maker_has_left_goes_when_the_next_is_made_and_nobody_elses_does() -> None:
    tell = """if True:
        import subprocess, time
        from bayop.applications.scope import scope_of
        with scope_of("killed") as scope:
            subprocess.Popen(scope.command(["setsid", "sleep", "1000"]))
            while not scope.is_populated():
                time.sleep(0.01)
            print(scope.path, flush=True)
            time.sleep(1000)
    """
    with subprocess.Popen([sys.executable, "-c", tell], stdout=subprocess.PIPE, text=True) as maker:
        assert maker.stdout is not None
        left = Scope(Path(maker.stdout.readline().strip()))
        try:
            here()
            assert left.path.exists(), "its maker lives"
        finally:
            os.kill(maker.pid, signal.SIGKILL)
    assert left.is_populated()
    began = time.monotonic()
    here()
    assert not left.path.exists()
    assert time.monotonic() - began < 5.0


def test_where_there_can_be_none_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mounts"
    monkeypatch.setattr(scopes, "_MOUNTS", mounts)
    for line in ("proc /proc proc rw 0 0\n", f"none {tmp_path}/nowhere cgroup2 ro 0 0\n"):
        mounts.write_text(line, encoding="utf-8")
        with scope_of("mine") as scope:
            assert scope is None


def test_another_user_has_none() -> None:
    tell = (
        "import os\nfrom bayop.applications.scope import scope_of\nos.setuid(65534)\nwith scope_of('x') as s: print(s)"
    )
    assert subprocess.run([sys.executable, "-c", tell], capture_output=True, text=True, check=True).stdout == "None\n"
