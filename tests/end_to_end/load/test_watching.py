"""What people see of `bayop load` while it runs, on a terminal."""

from __future__ import annotations

import os
import re
import subprocess

import pytest
from tests.support.servers import LOAD, load

pytestmark = pytest.mark.alone


def seen(*arguments: str) -> tuple[str, str]:
    """What it draws on a terminal for stderr while it runs, and what it prints."""
    ours, its = os.openpty()
    environment = os.environ | {"COLUMNS": "120", "TERM": "xterm"}
    with subprocess.Popen([*LOAD, *arguments], stdout=subprocess.PIPE, stderr=its, text=True, env=environment) as run:
        os.close(its)
        drawn = b""
        while True:
            try:
                drawn += os.read(ours, 4096)
            except OSError:
                break
        os.close(ours)
        assert run.stdout is not None
        printed = run.stdout.read()
    return drawn.decode(), printed


def test_a_bar_shows_the_latency_until_then_and_leaves_nothing(memcached: str) -> None:
    drawn, printed = seen("-s", memcached, "-q", "2kqps", "-c", "2", "-r", "100", "-t", "3s", "-w", "0.7s", "--json")
    assert "warming up" in drawn
    shown = re.findall(r"([\d,]+) requests, p50 [\d.,]+ us, p99 [\d.,]+ us", drawn)
    counts = [int(text.replace(",", "")) for text in shown]
    assert len(counts) >= 3
    assert 0 < counts[0] < counts[-1] <= 7000
    assert drawn.rstrip().endswith("\x1b[2K"), "the line is erased"
    assert "requests, p50" not in printed


def test_what_is_no_terminal_shows_nothing(memcached: str) -> None:
    run = load("-s", memcached, "-q", "1kqps", "-r", "100", "-t", "1s", "-w", "0s")
    assert run.stderr == ""
