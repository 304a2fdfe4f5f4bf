"""How the probe is called; what it sees of real traffic is in `tests/contract/test_latency_sources.py`."""

from __future__ import annotations

import shlex
import time
from pathlib import Path

import pytest

from bayop.errors import InputError
from bayop.latency.base import Vantage, Window
from bayop.latency.ebpf import EbpfProbe
from bayop.space import AUTO, Setting

SEEN = '{"vantage": "server+wait", "requests": 500, "p99_us": 310.5, "relative_sd": {"p99_us": 0.02}}'


def called_with(tmp_path: Path, setting: Setting, *own: str) -> list[str]:
    """The arguments that the probe's command ends with."""
    program, arguments = tmp_path / "bayop-probe", tmp_path / "arguments"
    program.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" >{arguments}\necho '{SEEN}'\n")
    program.chmod(0o755)
    latency = EbpfProbe(shlex.join([str(program), *own])).measure(Window(setting, 0.25), sleep=time.sleep)
    assert (latency.quantities, latency.vantage) == ({"p99_us": 310.5}, Vantage.SERVER_AND_WAIT)
    return arguments.read_text().splitlines()


WINDOW = ["--window-s", "0.25", "--windows", "1"]


def test_a_window_is_one_run_behind_the_commands_own_arguments(tmp_path: Path) -> None:
    assert called_with(tmp_path, {}, "--port", "11211") == ["--port", "11211", *WINDOW]


def test_the_delays_of_a_setting_are_told_and_nothing_else_of_it(tmp_path: Path) -> None:
    setting: Setting = {
        "nic.rx_usecs": 50, "napi.gro_flush_timeout_us": 20.5, "napi.defer_hard_irqs": 2, "cpu.freq_mhz": 2900,
    }  # fmt: skip
    assert called_with(tmp_path, setting) == [
        *WINDOW, "--rx-usecs", "50", "--gro-flush-timeout-us", "20.5", "--defer-hard-irqs", "2",
    ]  # fmt: skip


def test_a_knob_on_auto_leaves_what_the_command_says(tmp_path: Path) -> None:
    own = ["--rx-usecs", "3"]
    assert called_with(tmp_path, {"nic.rx_usecs": AUTO, "napi.defer_hard_irqs": 0}, *own) == [
        *own, *WINDOW, "--defer-hard-irqs", "0",
    ]  # fmt: skip


def test_a_wait_that_is_measured_is_not_modelled_too(tmp_path: Path) -> None:
    assert called_with(tmp_path, {"nic.rx_usecs": 50}, "--wait", "eth0") == ["--wait", "eth0", *WINDOW]


def test_a_window_without_requests_asks_whether_it_is_the_right_server() -> None:
    nothing = shlex.join(["printf", '{"vantage": "server+wait", "requests": 0, "relative_sd": {}}'])
    with pytest.raises(InputError, match=r"the window had too few requests \(0\)") as caught:
        EbpfProbe(nothing).measure(Window({}, 0.05), sleep=time.sleep)
    assert "--port, --cgroup and --netns" in str(caught.value.hint)


def test_there_is_a_command_to_run() -> None:
    with pytest.raises(InputError, match="a command must not be empty"):
        EbpfProbe(" ")
