"""What the generator reads late: an answer counts as come when it came, however long it has waited to be read."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from tests.support.servers import LOAD, result_of, scripted

pytestmark = pytest.mark.alone

_STOPS = 20
_STOP_S = 0.05


def test_a_stopped_generator_does_not_make_the_server_slow(tmp_path: Path) -> None:
    samples = tmp_path / "samples.csv"
    arguments = ["--protocol", "echo", "--closed-loop", "-c", "1", "-w", "0s", "-t", "3s", "--save", str(samples)]
    with (
        scripted("echo") as server,
        subprocess.Popen([*LOAD, "-s", server, *arguments], stdout=subprocess.PIPE, text=True) as run,
    ):
        time.sleep(1)
        # Nearly all of its time it waits for the answer to the one request that is under way.
        for _ in range(_STOPS):
            os.kill(run.pid, signal.SIGSTOP)
            time.sleep(_STOP_S)
            os.kill(run.pid, signal.SIGCONT)
            time.sleep(_STOP_S)
        output, _ = run.communicate(timeout=30)
    _, sent_ns, received_ns = np.loadtxt(samples, delimiter=",", skiprows=1, dtype=np.int64).T
    long_ns = int(0.9e9 * _STOP_S)
    stalls = np.count_nonzero(np.diff(sent_ns) > long_ns)
    slow = np.count_nonzero(received_ns - sent_ns > long_ns)
    assert stalls >= _STOPS / 2, output
    # By the time of reading, 11 and more.
    assert slow <= _STOPS / 4


def test_what_has_come_in_time_is_read_before_it_counts_as_lost() -> None:
    arguments = [
        "--protocol",
        "echo",
        "--closed-loop",
        "-c",
        "1",
        "-w",
        "0s",
        "-t",
        "3s",
        "--timeout",
        "0.2s",
        "--json",
    ]
    with (
        scripted("echo") as server,
        subprocess.Popen([*LOAD, "-s", server, *arguments], stdout=subprocess.PIPE, text=True) as run,
    ):
        time.sleep(1)
        for _ in range(5):
            os.kill(run.pid, signal.SIGSTOP)
            time.sleep(0.4)
            os.kill(run.pid, signal.SIGCONT)
            time.sleep(0.05)
        output, _ = run.communicate(timeout=30)
    counts = result_of(subprocess.CompletedProcess(run.args, 0, output, ""))["counts"]
    assert counts["reconnects"] == 0, "the connection was given up, whose answers had come"
