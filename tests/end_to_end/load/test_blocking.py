"""Sleeping between events leaves the processor to others, also while the server is the one that lags."""

from __future__ import annotations

import resource
import subprocess

import pytest
from tests.support.servers import LOAD

pytestmark = pytest.mark.alone


def sleeps(*arguments: str) -> int:
    """How often the processes of a run of `bayop load` gave up the processor by themselves."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*LOAD, *arguments], capture_output=True, timeout=60, check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw - before.ru_nvcsw


def test_it_sleeps_while_a_lagging_server_works(memcached: str) -> None:
    common = ["-s", memcached, "--closed-loop", "-c", "16"]
    subprocess.run([*LOAD, *common, "--loadonly"], capture_output=True, timeout=60, check=True)
    peak = [*common, "-d", "128", "-w", "0s", "-t", "2s", "--noload"]
    # Counted, not timed: a busy machine takes the processor from one that polls, which then seems to save it.
    # Measured: about 120 and 2000 to 3500, also with sixteen others in the queue of two cores.
    assert sleeps(*peak, "--blocking") > 5 * sleeps(*peak)
