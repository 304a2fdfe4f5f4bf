"""A hold on a real kernel: its own counters tell the agent that the load has doubled."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.needs import need
from tests.support.patience import eventually
from tests.support.rig import deferral_of

from bayop.experiments.rig.namespaces import Rig
from bayop.experiments.rig.veth import SERVER_ADDRESS
from bayop.live.agent.messages import Conditions, FellBack, LoadBand
from bayop.space import DEFER_HARD_IRQS, GRO_FLUSH_TIMEOUT_US

pytestmark = [pytest.mark.slow, pytest.mark.alone]

DEFAULT, HELD, FALL_BACK = (0, 0), (200_000, 2), (50_000, 1)
"""The deferral: a timeout in ns, and empty polls."""

PACKETS_PER_S = 1000.0
SENDER = """
import select, socket, sys, time
line, per_s, sent, began = "", 0.0, 0.0, time.monotonic()
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
    while True:
        if select.select([sys.stdin], [], [], 0.005)[0]:
            if not (line := sys.stdin.readline()):
                break
            per_s, sent, began = float(line), 0.0, time.monotonic()
        while sent < (time.monotonic() - began) * per_s:
            sender.sendto(b"x", (sys.argv[1], 9))
            sent += 1
"""
"""Sends as many datagrams a second as the last line of its standard input says."""


@pytest.fixture
def rig(agent_binary: Path) -> Iterator[Rig]:
    need("namespaces", "memcached")
    with Rig(agent_binary, qps=1000.0, window_s=0.5) as rig:
        yield rig


@contextmanager
def traffic(rig: Rig) -> Iterator[Callable[[float], None]]:
    """Datagrams from the client to the server; what is yielded sets how many a second."""
    through = shlex.split(tomllib.loads(rig.file.read_text(encoding="utf-8"))["load"]["through"])
    words = [*through, sys.executable, "-c", SENDER, SERVER_ADDRESS]
    with subprocess.Popen(words, stdin=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None

        def send(packets_per_s: float) -> None:
            assert process.stdin is not None
            print(packets_per_s, file=process.stdin, flush=True)

        yield send
        process.stdin.close()


def fell_back(rig: Rig) -> FellBack | None:
    hold = rig.client.holding()
    assert hold is not None
    return hold.fell_back


def test_a_load_that_doubles_ends_a_hold_by_the_kernels_own_counter(rig: Rig) -> None:
    client = rig.client
    lease = client.acquire("a test", 60.0)
    band = LoadBand(rig.device, 0.5 * PACKETS_PER_S, 1.5 * PACKETS_PER_S)
    with traffic(rig) as send:
        send(PACKETS_PER_S)
        settings = ({GRO_FLUSH_TIMEOUT_US: ns / 1000, DEFER_HARD_IRQS: polls} for ns, polls in (HELD, FALL_BACK))
        client.hold(next(settings), fall_back=next(settings), conditions=Conditions(load=band), lease=lease)
        assert deferral_of(rig) == HELD
        assert not eventually(lambda: fell_back(rig) is not None, within_s=3)
        send(2 * PACKETS_PER_S)
        assert eventually(lambda: fell_back(rig) is not None, within_s=2)
    fallen = fell_back(rig)
    assert fallen is not None
    assert (fallen.condition, fallen.error) == ("load", None)
    assert f"{rig.device} receives" in fallen.seen
    assert deferral_of(rig) == FALL_BACK
    client.release(lease, keep=False)
    assert deferral_of(rig) == DEFAULT
