"""Polls of real devices, in network namespaces of this machine."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import pytest
from tests.support.needs import need

from bayop.errors import UnsupportedError
from bayop.experiments.rig.polls import polls_of
from bayop.experiments.rig.veth import CLIENT_ADDRESS, VethPair

pytestmark = pytest.mark.alone


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_only_the_polls_of_the_device_are_counted_and_only_in_the_block() -> None:
    need("namespaces")
    before = open_files()
    with VethPair() as pair, polls_of(pair.device) as polls, polls_of("no0") as others:
        first = polls()
        for _ in range(50):  # each answered before the next one is sent: no poll takes two
            pair.server.run("bash", "-c", f"! (</dev/tcp/{CLIENT_ADDRESS}/1) 2>/dev/null")
        assert polls() >= first + 50
        assert others() == 0
    assert open_files() == before


def test_another_rig_on_the_machine_adds_nothing() -> None:
    need("namespaces")
    with VethPair() as pair, VethPair() as other, polls_of(pair.device) as polls:
        assert len({pair.device, pair.client_device, other.device, other.client_device}) == 4
        first = polls()
        for _ in range(50):
            other.server.run("bash", "-c", f"! (</dev/tcp/{CLIENT_ADDRESS}/1) 2>/dev/null")
        assert polls() - first < 10


@pytest.mark.parametrize("why", ["Operation not permitted", "unknown machine vax"])
def test_a_kernel_that_does_not_count_says_why(why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    need("namespaces")
    if "vax" in why:
        monkeypatch.setattr(platform, "machine", lambda: "vax")
    else:
        monkeypatch.setattr(subprocess, "run", lambda words, **_: subprocess.CompletedProcess(words, 1, "", why))
    before = open_files()
    with pytest.raises(UnsupportedError, match=f"does not count the polls of a device: {why}"), polls_of("lo"):
        pytest.fail("nothing is counted")
    assert open_files() == before
