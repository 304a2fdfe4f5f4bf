"""Files for systemd.link(5)."""

from __future__ import annotations

from configparser import ConfigParser

import pytest

from bayop import _core
from bayop.errors import InputError
from bayop.export import check_link, link, spell
from bayop.space import Setting


def file(setting: Setting) -> ConfigParser:
    parser = ConfigParser(delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string(link(spell(setting, _core.knob_spellings())))
    return parser


def test_values_are_systemd_s() -> None:
    parser = file({"nic.rx_usecs@eth0": 100.0, "nic.rx_frames@eth0": 16.0, "nic.tx_usecs@eth0": 20.0})
    assert dict(parser["Match"]) == {"OriginalName": "eth0"}
    own = {key: value for key, value in parser["Link"].items() if "Coalesce" in key}
    assert own == {
        "UseAdaptiveRxCoalesce": "no", "UseAdaptiveTxCoalesce": "no",
        "RxMaxCoalescedFrames": "16", "RxCoalesceSec": "100us", "TxCoalesceSec": "20us",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("device", "match"),
    [
        ("eth1", {"OriginalName": "eth1"}),
        ("enp1s0f0", {"Property": "ID_NET_NAME_PATH=enp1s0f0"}),
        ("enP2p1s0", {"Property": "ID_NET_NAME_PATH=enP2p1s0"}),
        ("eno1", {"Property": "ID_NET_NAME_ONBOARD=eno1"}),
        ("ens3", {"Property": "ID_NET_NAME_SLOT=ens3"}),
        ("enx001122334455", {"Property": "ID_NET_NAME_MAC=enx001122334455"}),
    ],
)
def test_a_device_is_told_by_what_it_is_called_after(device: str, match: dict[str, str]) -> None:
    assert dict(file({f"nic.rx_usecs@{device}": 9.0})["Match"]) == match


def test_a_device_keeps_its_name() -> None:
    assert "NamePolicy" not in file({"nic.rx_usecs@eth0": 9.0})["Link"], "udev's names are off where there is an eth0"
    named = file({"nic.rx_usecs@ens3": 9.0})["Link"]
    assert "slot" in named["NamePolicy"], "systemd's own file, which holds no longer, names the device"


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (
            {"nic.rx_usecs@eth0": 9.0, "cpu.freq_mhz": 2100.0, "napi.defer_hard_irqs@eth0": 1.0},
            "systemd.link has no words for cpu.freq_mhz@policy* and napi.defer_hard_irqs@eth0",
        ),
        ({"nic.rx_usecs@eth0": 9.0, "nic.rx_usecs@eth1": 9.0}, "these are 2 devices: eth0, eth1"),
        ({"nic.rx_usecs@uplink": 9.0}, "uplink is neither like eth0 nor like enp1s0"),
    ],
)
def test_what_a_file_can_t_say_is_refused_by_name(setting: Setting, message: str) -> None:
    with pytest.raises(InputError) as caught:
        file(setting)
    assert message in str(caught.value)


def test_how_it_takes_effect_can_be_copied_from_a_line() -> None:
    lines = link(spell({"nic.rx_usecs@eth0": 9.0}, _core.knob_spellings())).splitlines()
    assert "#   udevadm trigger --action=add /sys/class/net/eth0" in lines


def test_what_a_file_can_t_say_is_known_without_its_place() -> None:
    spellings = _core.knob_spellings()
    with pytest.raises(InputError, match=r"systemd.link has no words for power.cap_w;"):
        check_link({"power.cap_w": 90.0, "nic.rx_usecs": 9.0}, spellings)
    check_link({"power.cap_w": "auto", "nic.rx_usecs": 9.0, "own.knob": 1.0}, spellings)
