"""`bayop export`: what it takes, where from, and what it prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bayop.cli import main
from bayop.control.ledger import LedgerWindow, Phase
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
