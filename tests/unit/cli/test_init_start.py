"""`bayop init --start`, with a systemctl that notes its words; the real one is in end_to_end/test_package_brain.py."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from bayop.cli.init import start as module
from bayop.daemon.file import DaemonFile
from bayop.errors import BayopError, InputError, UnsupportedError
from bayop.live.agent.messages import Finding
from bayop.machine.first_files import Inventory
from bayop.slo import Slo

SLO = Slo.parse("p99<1ms")
METER = Finding("power meter", "ok", "powercap: package-0", "", None)
NO_METER = Finding("power meter", "missing", "none", "", "modprobe intel_rapl_msr")
SERVER = Inventory("web1", nics=[], services=[("memcached", 11211)], knobs={}, findings=[METER])
ADVISABLE = replace(SERVER, knobs={"cpu.freq_mhz": {"policy0": None}})
GUEST = replace(SERVER, findings=[NO_METER])


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the service is added, on a machine whose root we are and whose systemd does as it is told."""
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "agent.toml").write_text('mode = "observe"\n', encoding="utf-8")
    monkeypatch.setattr(module, "FILE", tmp_path / "etc" / "bayop.toml")
    monkeypatch.setattr(module, "AGENT_FILE", tmp_path / "etc" / "agent.toml")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    systemctl(tmp_path, 0)
    return tmp_path / "etc" / "bayop.toml"


def systemctl(folder: Path, code: int) -> None:
    text = f'#!/bin/sh\necho "$*" >>{folder}/asked\n[ "$1" = cat ] || {{ echo it broke >&2; exit {code}; }}\n'
    (folder / "systemctl").write_text(text, encoding="utf-8")
    (folder / "systemctl").chmod(0o755)


def test_the_service_is_added_and_both_units_are_started(file: Path, tmp_path: Path) -> None:
    assert module.start(SERVER, None, SLO, "observe") == ("memcached", [file])
    assert [service.name for service in DaemonFile.read(file).services] == ["memcached"]
    asked = (tmp_path / "asked").read_text(encoding="utf-8").splitlines()
    assert asked == ["cat bayop-agent.service bayop.service", "enable --now bayop-agent.service bayop.service"]
    assert {path.name for path in file.parent.iterdir()} == {"bayop.toml", "agent.toml"}


def test_advice_takes_a_word(file: Path) -> None:
    module.start(ADVISABLE, None, SLO, "advise")
    (service,) = DaemonFile.read(file).services
    assert (service.mode, service.twin, service.live.knobs) == ("advise", "linux-memcached", ("cpu.freq_mhz",))
    assert tomllib.loads(file.with_name("agent.toml").read_text(encoding="utf-8")) == {"mode": "observe"}


def test_what_can_t_be_advised_changes_nothing(file: Path) -> None:
    with pytest.raises(InputError, match="no knob that advice could be about"):
        module.start(replace(GUEST, services=SERVER.services), None, SLO, "advise")
    assert not file.exists()
    assert file.with_name("agent.toml").read_text(encoding="utf-8") == 'mode = "observe"\n'


def test_without_a_meter_the_agent_estimates_and_starts_anew(file: Path, tmp_path: Path) -> None:
    agent = file.with_name("agent.toml")
    assert module.start(GUEST, None, SLO, "observe")[1] == [file, agent]
    config = tomllib.loads(agent.read_text(encoding="utf-8"))
    assert (config["mode"], config["power"]["model"]) == ("observe", {"idle_w": 60.0, "busy_w": 200.0})
    assert "try-restart bayop-agent.service" in (tmp_path / "asked").read_text(encoding="utf-8")


def test_what_the_agent_s_file_says_of_power_stays(file: Path) -> None:
    agent = file.with_name("agent.toml")
    agent.write_text('[power]\nmeter = "psys"\n', encoding="utf-8")
    assert module.start(GUEST, None, SLO, "observe")[1] == [file]
    assert agent.read_text(encoding="utf-8") == '[power]\nmeter = "psys"\n'


def test_a_file_with_services_stays_as_it_is(file: Path) -> None:
    module.start(SERVER, None, SLO, "observe")
    before = file.read_text(encoding="utf-8")
    with pytest.raises(InputError, match="names services already"):
        module.start(SERVER, None, SLO, "observe")
    assert file.read_text(encoding="utf-8") == before


def test_what_systemd_says_is_passed_on(file: Path, tmp_path: Path) -> None:
    systemctl(tmp_path, 1)
    with pytest.raises(BayopError, match="systemctl enable failed: it broke"):
        module.start(SERVER, None, SLO, "observe")
    assert file.exists()


def test_who_is_not_root_is_told(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(UnsupportedError, match="only root may start services"):
        module.start(SERVER, None, SLO, "observe")
    assert not file.exists()


def test_without_the_packages_nothing_is_written(file: Path, tmp_path: Path) -> None:
    (tmp_path / "systemctl").write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    with pytest.raises(UnsupportedError, match="are not both installed here"):
        module.start(SERVER, None, SLO, "observe")
    assert not file.exists()
