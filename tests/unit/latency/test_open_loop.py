"""How the probe is called; what it sees of a real server is in `tests/contract/test_latency_sources.py`."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path

import pytest

from bayop.errors import InputError
from bayop.latency.base import Vantage, Window
from bayop.latency.open_loop import OpenLoopProbe

SEEN = '{"vantage": "probe", "requests": 500, "p99_us": 310.5, "relative_sd": {}}'
WINDOW = Window({"nic.rx_usecs": 50}, 0.25)


def test_a_command_runs_it_elsewhere_for_one_window(tmp_path: Path) -> None:
    program, arguments = tmp_path / "ssh", tmp_path / "arguments"
    program.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" >{arguments}\necho '{SEEN}'\n")
    program.chmod(0o755)
    latency = OpenLoopProbe(f"{program} client bayop probe memcached://server").measure(WINDOW, sleep=time.sleep)
    assert (latency.quantities, latency.vantage) == ({"p99_us": 310.5}, Vantage.PROBE)
    assert arguments.read_text().split() == [
        "client",
        "bayop",
        "probe",
        "memcached://server",
        "--window",
        "0.25s",
        "--json",
    ]


def test_an_address_is_probed_from_here() -> None:
    with pytest.raises(
        InputError, match=f"open-loop probe {sys.executable}: the command ends with exit code 0"
    ) as caught:
        OpenLoopProbe("smtp://server").measure(WINDOW, sleep=time.sleep)
    assert "memcached" in str(caught.value.hint), "bayop probe says what it speaks"


def test_a_window_without_requests_says_what_helps() -> None:
    nothing = shlex.join(["printf", '{"vantage": "probe", "requests": 0, "relative_sd": {}}'])
    with pytest.raises(InputError, match="open-loop probe printf: a window has enough requests, but got 0") as caught:
        OpenLoopProbe(nothing).measure(WINDOW, sleep=time.sleep)
    assert caught.value.hint == "a longer window, or --qps"


def test_there_is_something_to_probe() -> None:
    with pytest.raises(InputError, match="a command is not empty"):
        OpenLoopProbe("")
