"""`bayop export`: what it takes, where from, and what it prints."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bayop.cli import main
from bayop.control.ledger import LedgerWindow, Phase
from bayop.live.file import LiveFile
from bayop.space import Setting
from bayop.state.store import Store

Capture = pytest.CaptureFixture[str]


def export(capsys: Capture, *words: str) -> dict[str, Any]:
    assert main(["export", *words, "--json"]) == 0
    (event,) = map(json.loads, capsys.readouterr().out.splitlines())
    return dict(event)


def refused(capsys: Capture, *words: str) -> str:
    assert main(["export", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def test_a_setting_is_read_with_units_and_words(capsys: Capture) -> None:
    event = export(capsys, "nic.rx_usecs@eth0=0.1ms", "cpu.freq_mhz=2.1GHz", "cpu.epp=power", "--as", "tuned")
    assert event["setting"] == {"nic.rx_usecs@eth0": 100, "cpu.freq_mhz@policy*": 2100, "cpu.epp@policy*": "power"}
    assert (event["event"], event["as"], event["out"]) == ("exported", "tuned", None)
    assert {*event["files"]} == {"tuned.conf", "coalesce.sh"}
    assert "energy_performance_preference=power\n" in event["files"]["tuned.conf"]


def test_people_get_the_text_alone(capsys: Capture) -> None:
    assert main(["export", "nic.rx_usecs=100", "--device", "eth0", "--as", "networkd"]) == 0
    assert capsys.readouterr().out.endswith("UseAdaptiveRxCoalesce=no\nRxCoalesceSec=100us\n")


def test_into_a_file(tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "setting.sh"
    event = export(capsys, "cpu.freq_mhz=2100", "--as", "script", "--out", str(out))
    assert (event["out"], event["files"]) == (str(out), {"script": out.read_text(encoding="utf-8")})
    assert out.stat().st_mode & 0o777 == 0o755


def test_a_profile_is_a_folder(tmp_path: Path, capsys: Capture) -> None:
    words = ("nic.rx_usecs@eth0=100", "cpu.epp=power", "--as", "tuned")
    assert "it is tuned.conf and coalesce.sh; such a profile must have a folder" in refused(capsys, *words)
    event = export(capsys, *words, "--out", str(tmp_path / "new" / "bayop"))
    written = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "new" / "bayop").iterdir()}
    assert written == event["files"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nic.rx_usecs@eth0="], "a setting must be KNOB=VALUE"),
        (["nic.rx_usecs@eth0=3GHz"], "(nic.rx_usecs@eth0)"),
        (["a.toml", "b", "c"], "it must be settings, or a file and a service"),
        (["nic.rx_usecs@eth0=3", "b"], "it must be settings, or a file and a service"),
        (["nic.rx_usecs@eth0=3", "--agent", "unix:/nowhere"], "--agent says what an agent holds"),
        (["nope.db"], "there is no nope.db"),
        (["idle.disable@C6=on"], "nobody but bayop-agent sets idle.disable@C6"),
        (["cpu.freq=2.1GHz"], "there is no knob 'cpu.freq'"),
        (["nic.rx_usecs=100", "nic.rx_usecs=200"], "nic.rx_usecs comes twice"),
        (["nic.rx_usecs@eth0=-5"], "'-5us': nic.rx_usecs must lie between 0us and 10s (nic.rx_usecs@eth0)"),
        (["nic.rx_usecs@eth0=.4"], "cannot use '0.4us'"),
        (["cpu.freq_mhz=fast"], "cannot use 'fast': cpu.freq_mhz must be a number in MHz (cpu.freq_mhz@policy*)"),
        (["cpu.epp=power", "--device", "eth0"], "no knob of the setting is for eth0"),
    ],
)
def test_what_is_not_understood_is_refused(words: list[str], message: str, capsys: Capture) -> None:
    assert message in refused(capsys, *words, "--as", "script")


def window(phase: Phase, setting: Setting | None) -> LedgerWindow:
    return LedgerWindow(100.0, 60.0, phase, setting, 5000.0, 90.0, 178.0, 0.004, meets_slo=True)


def test_a_service_exports_what_it_held_last(tmp_path: Path, capsys: Capture) -> None:
    state = tmp_path / "bayop.db"
    with Store(state) as store:
        for phase, rx_usecs in (("hold", 50.0), ("hold", 100.0), ("trial", 200.0)):
            store.add_window("web", window(phase, {"nic.rx_usecs": rx_usecs}))  # type: ignore[arg-type]
        store.add_window("web", window("default", None))
        store.add_window("db", window("default", None))
    event = export(capsys, str(state), "web", "--as", "script", "--device", "eth0")
    assert event["setting"] == {"nic.rx_usecs@eth0": 100}
    assert "nothing was ever held for db" in refused(capsys, str(state), "db", "--as", "script")
    assert "has db, web; one service must be named" in refused(capsys, str(state), "--as", "script")
    assert "nic.rx_usecs has no place" in refused(capsys, str(state), "web", "--as", "script")


SERVICE = 'agent = "unix:/{agent}"\nlatency = "http://localhost:1?query=x"\nslo = "p99<500us"\nmode = "advise"\n'
HELD = {
    "unix:/a": [("nic.rx_usecs@eth0", "stood_down"), ("nic.rx_usecs@eth1", "held"), ("nic.rx_usecs@eth2", "latched")],
    "unix:/b": [("nic.rx_usecs@eth3", "held")],
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The agents that were asked what they hold."""
    asked: list[str] = []

    def client_of(live: LiveFile) -> SimpleNamespace:
        asked.append(live.agent)
        held = [SimpleNamespace(knob=knob, state=state) for knob, state in HELD[live.agent]]
        return SimpleNamespace(status=lambda: SimpleNamespace(held=held))

    monkeypatch.setattr("bayop.live.search.client_of", client_of)
    return asked


def two_services(folder: Path, *agents: str) -> str:
    tables = (f"[service.{name}]\n{SERVICE.format(agent=at)}" for name, at in zip(("web", "db"), agents, strict=True))
    (folder / "bayop.toml").write_text("".join(tables), encoding="utf-8")
    with Store(folder / "bayop.db") as store:
        store.add_window("web", window("hold", {"nic.rx_usecs": 100.0}))
    return str(folder / "bayop.toml")


@pytest.mark.parametrize("named", [["web"], []])
def test_places_are_those_that_the_service_s_own_agent_holds(
    tmp_path: Path, asked: list[str], capsys: Capture, named: list[str]
) -> None:
    event = export(capsys, two_services(tmp_path, "a", "b"), *named, "--as", "script")
    assert event["setting"] == {"nic.rx_usecs@eth1": 100}
    assert asked == ["unix:/a"]


def test_an_agent_of_two_services_does_not_say_whose_place_it_is(
    tmp_path: Path, asked: list[str], capsys: Capture
) -> None:
    error = refused(capsys, two_services(tmp_path, "a", "a"), "web", "--as", "script")
    assert "nic.rx_usecs has no place" in error
    assert "hint: bayop export nic.rx_usecs@eth0=100us, or bayop export FILE SERVICE --device eth0" in error
    assert asked == []
