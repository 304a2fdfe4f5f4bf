"""Sleeping between events saves the processor, also while the server is the one that lags."""

from __future__ import annotations

import os
import subprocess

from bayop.testing.servers import LOAD


def processor_s(*arguments: str) -> float:
    """What a run of `bayop load` takes, with the processes that it starts."""
    before = os.times()
    subprocess.run([*LOAD, *arguments], capture_output=True, timeout=60, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def test_it_sleeps_while_a_lagging_server_works(memcached: str) -> None:
    common = ["-s", memcached, "--closed-loop", "-c", "16"]
    start_s = processor_s(*common, "--loadonly")
    peak = [*common, "-d", "128", "-w", "0s", "-t", "2s", "--noload"]
    polling_s = processor_s(*peak) - start_s
    blocking_s = processor_s(*peak, "--blocking") - start_s
    # It sends as much; measured: 0.3 to 0.4.
    assert blocking_s < 0.75 * polling_s
