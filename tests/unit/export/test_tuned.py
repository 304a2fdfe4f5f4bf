"""Profiles of TuneD, as its own reader (configparser) takes them; the real one reads them in the lab."""

from __future__ import annotations

from configparser import ConfigParser

from bayop import _core
from bayop.export import spell, tuned


def test_each_device_and_all_files_have_a_section() -> None:
    setting = {"nic.rx_usecs@eth0": 100.0, "nic.rx_usecs@eth1": 50.0, "power.cap_w@intel-rapl:0/0": 80.0}
    parser = ConfigParser(delimiters=("=",), inline_comment_prefixes=("#",))
    parser.read_string(tuned(spell(setting, _core.knob_spellings())))
    assert parser.sections() == ["main", "bayop_eth0", "bayop_eth1", "bayop_files"]
    assert dict(parser["bayop_eth1"]) == {
        "type": "net", "devices": "eth1", "dynamic": "0", "coalesce": "adaptive-rx off rx-usecs 50"
    }  # fmt: skip
    cap = "/sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw"
    assert dict(parser["bayop_files"]) == {"type": "sysfs", cap: "80000000"}
