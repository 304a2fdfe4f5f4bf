"""From a file to a target, with the real agent on a recorded machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.agents import AgentProcess, Machine

from bayop.domains import Steps
from bayop.errors import InputError, UnsupportedError
from bayop.live.file import LiveFile
from bayop.live.search import client_of, open_target, space_of
from bayop.slo import Slo

SLO = Slo.parse("p99<200us")


def live(folder: Path, agent: AgentProcess, clients: str, more: str = "") -> LiveFile:
    path = folder / "live.toml"
    path.write_text(
        f"agent = \"{agent.address}\"\nlatency = '''{clients}'''\n"
        f"[window]\nwindow_s = 0.1\nsettle_s = 0\nmost_windows = 1\n{more}"
    )
    return LiveFile.read(path)


def test_the_file_says_which_knobs_are_searched_and_how_far(agent: AgentProcess, tmp_path: Path, clients: str) -> None:
    file = live(tmp_path, agent, clients, '[knobs]\n"power.cap_w" = "60:120:5"\n"nic.rx_usecs" = "all"\n')
    client = client_of(file)
    assert str(client.address) == agent.address
    domains = {knob.id: knob.domain for knob in space_of(file, client).knobs}
    assert domains == {"power.cap_w": Steps(60, 120, 5), "nic.rx_usecs": Steps(0, 1000, 2)}
    with pytest.raises(UnsupportedError, match=r"the machine has no cpu\.freq_mhz"):
        space_of(live(tmp_path, agent, clients, '[knobs]\n"cpu.freq_mhz" = "all"\n'), client)


def test_the_machine_has_its_own_settings_back_when_the_block_ends(
    agent: AgentProcess, machine: Machine, tmp_path: Path, clients: str
) -> None:
    file = live(tmp_path, agent, clients, '[knobs]\n"power.cap_w" = "60:120:5"\n')
    with open_target(file, SLO, holder="a test") as target:
        assert target.qps == 5000.0, "the source of latency counts the load"
        assert dict(target.apply({"power.cap_w": 80})) == {"power.cap_w": 80}
        assert agent.client.status().lease_holder == "a test"
        window = target.measure()
        assert window["p99_us"] == pytest.approx(225.0)
        assert window["duration_s"] < 1.0, "the file's window, and not the usual one"
        assert machine.cap_w == 80.0
    assert (machine.cap_w, agent.client.status().lease_holder) == (120.0, None)


def test_the_guard_is_the_files(agent: AgentProcess, tmp_path: Path, clients: str) -> None:
    """The clients send 5000 requests/s where the file says 7500, a third less, and chance a tenth."""
    for band, is_cut in ((0.1, True), (0.3, False)):
        file = live(tmp_path, agent, clients, f'[knobs]\n"power.cap_w" = "60:120:5"\n[guard]\nload_band = {band}\n')
        with open_target(replace(file, qps=7500.0), SLO, holder="a test") as target:
            target.apply({"power.cap_w": 120})
            assert target.measure().censored is is_cut


def test_a_latency_that_can_not_be_had_touches_nothing(agent: AgentProcess, machine: Machine, tmp_path: Path) -> None:
    file = live(tmp_path, agent, "false", '[knobs]\n"power.cap_w" = "60:120:5"\n')
    with pytest.raises(InputError, match="the command ended with exit code 1"), open_target(file, SLO, holder="a test"):
        pytest.fail("there is no target")
    assert (machine.cap_w, agent.client.status().held) == (120.0, ())


def test_what_is_missing_or_hangs_is_the_files(agent: AgentProcess, tmp_path: Path, clients: str) -> None:
    blind = clients.replace(', "qps": 5000', "")
    file = live(tmp_path, agent, blind, '[knobs]\n"power.cap_w" = "60:120:5"\n')
    with pytest.raises(InputError, match="the offered load is not known") as caught, open_target(file, SLO, holder="t"):
        pass
    assert caught.value.place == f"{file.path}, qps"
    assert caught.value.hint == "say it, or let the source of latency count it"
    assert file.place("latency") == f"{file.path}:2"
