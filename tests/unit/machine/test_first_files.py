"""The first files of machines with and without a delay, a frequency, a meter and a service."""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path

import pytest

from bayop.live.agent.messages import Finding
from bayop.live.file import LiveFile
from bayop.machine.first_files import Inventory, Nic, agent_toml, live_toml
from bayop.space import DEFER_HARD_IRQS, FREQ_MHZ, GRO_FLUSH_TIMEOUT_US, RX_USECS

METER = Finding("power meter", "ok", "powercap: package-0", "", None)
NO_METER = Finding("power meter", "missing", "power", "", "modprobe intel_rapl_msr; or give idle_w")
FOR_ROOT = Finding("power meter", "missing", "/sys/energy_uj", "", "run as root, as the agent does")
GUEST = Finding("frequency driver", "missing", "no frequency policy", "", "pin the frequency\non the host")
SERVER = Inventory(
    host="web1",
    nics=[Nic("eth1", "ixgbe", has_default_route=True, rx_packets=5), Nic("eth0", "ixgbe", False, 9)],  # noqa: FBT003
    services=[("memcached", 11211)],
    knobs={RX_USECS: {"eth0": (0, 1020, 2), "eth1": (0, 1020, 2)}, FREQ_MHZ: {"policy0": (1200, 2900, 100)}},
    findings=[METER],
)
GUEST_ONLY = dataclasses.replace(
    SERVER,
    knobs={GRO_FLUSH_TIMEOUT_US: {"eth1": (0, 1e6, 1)}, DEFER_HARD_IRQS: {"eth1": (0, 1e6, 1)}},
    services=[],
    findings=[NO_METER, GUEST],
)


def live(inventory: Inventory, folder: Path) -> LiveFile:
    path = folder / "live.toml"
    path.write_text(live_toml(inventory), encoding="utf-8")
    return LiveFile.read(path)


def test_the_nic_of_the_default_route_and_all_frequencies_are_allowed() -> None:
    text = agent_toml(SERVER)
    config = tomllib.loads(text)
    assert config["mode"] == "apply"
    assert config["allow"] == {RX_USECS: {"places": ["eth1"], "high": 1000}, FREQ_MHZ: {"places": ["*"]}}
    assert config["power"] == {"meter": "auto"}
    assert (
        "eth1 (ixgbe): the default route leads through it. Name another device if clients come in there (eth0)" in text
    )


def test_the_service_is_probed_and_the_papers_knobs_are_searched(tmp_path: Path) -> None:
    file = live(SERVER, tmp_path)
    assert file.latency == "probe:memcached://web1:11211"
    assert file.knobs == (RX_USECS, FREQ_MHZ)
    assert (file.ranges[RX_USECS].low, file.ranges[RX_USECS].high, file.ranges[RX_USECS].step) == (0, 500, 10)


def test_a_guest_defers_its_polls_and_estimates_its_power(tmp_path: Path) -> None:
    text = agent_toml(GUEST_ONLY)
    config = tomllib.loads(text)
    assert set(config["allow"]) == {GRO_FLUSH_TIMEOUT_US, DEFER_HARD_IRQS}
    assert set(config["power"]["model"]) == {"idle_w", "busy_w"}
    assert "This machine has no cpu.freq_mhz: pin the frequency on the host." in text, "on one line, as a comment"
    assert "to get one: modprobe intel_rapl_msr. Until then power is estimated" in text
    file = live(GUEST_ONLY, tmp_path)
    assert file.knobs == (GRO_FLUSH_TIMEOUT_US, DEFER_HARD_IRQS)
    assert (file.ranges[DEFER_HARD_IRQS].low, file.ranges[DEFER_HARD_IRQS].high) == (1, 4)
    assert file.latency == "./p99.sh"


def test_a_meter_that_only_root_may_read_is_the_agent_s() -> None:
    config = tomllib.loads(agent_toml(dataclasses.replace(SERVER, findings=[FOR_ROOT])))
    assert config["power"] == {"meter": "auto"}, "no estimate stands in for it"


def test_a_machine_with_nothing_gets_files_that_say_so(tmp_path: Path) -> None:
    bare = Inventory("web1", [], [], {}, [])
    config = tomllib.loads(agent_toml(bare))
    assert "allow" not in config
    assert "there is none" in agent_toml(bare)
    assert live(bare, tmp_path).knobs == ()


@pytest.mark.parametrize(
    ("service", "port", "url"),
    [
        ("redis-server", 6380, "redis://web1:6380"),
        ("valkey-server", 6379, "redis://web1:6379"),
        ("nginx", 8080, "http://web1:8080/"),
        ("apache2", 80, "http://web1:80/"),
    ],
)
def test_every_known_service_is_probed_by_its_protocol(tmp_path: Path, service: str, port: int, url: str) -> None:
    inventory = dataclasses.replace(SERVER, services=[(service, port), ("memcached", 11211)])
    assert live(inventory, tmp_path).latency == f"probe:{url}"
    assert f"{service} listens on port {port}, memcached on port 11211." in live_toml(inventory)


def test_a_range_keeps_to_the_driver_s_grid(tmp_path: Path) -> None:
    coarse = dataclasses.replace(SERVER, knobs={RX_USECS: {"eth1": (0, 300, 64)}})
    delays = live(coarse, tmp_path).ranges[RX_USECS]
    assert (delays.low, delays.high, delays.step) == (0, 256, 64)
