"""Profiles of TuneD, as its own reader (configparser) takes them; the real one reads them in the lab."""

from __future__ import annotations

from configparser import ConfigParser

from bayop import _core
from bayop.export import spell, tuned


def test_files_are_its_own_and_coalescing_is_a_script_s() -> None:
    setting = {"nic.rx_usecs@eth0": 100.0, "power.cap_w@intel-rapl:0/0": 80.0}
    files = tuned(spell(setting, _core.knob_spellings()))
    parser = ConfigParser(delimiters=("=",), inline_comment_prefixes=("#",), interpolation=None)
    parser.read_string(files["tuned.conf"])
    assert parser.sections() == ["main", "bayop_coalescing", "bayop_files"]
    assert dict(parser["bayop_coalescing"]) == {"type": "script", "script": "${i:PROFILE_DIR}/coalesce.sh"}
    cap = "/sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw"
    assert dict(parser["bayop_files"]) == {"type": "sysfs", cap: "80000000"}
    assert "    coalesce eth0 rx-usecs 100\n" in files["coalesce.sh"]
    assert "power" not in files["coalesce.sh"]


def test_without_a_nic_s_knobs_it_is_one_file() -> None:
    assert [*tuned(spell({"cpu.epp": "power"}, _core.knob_spellings()))] == ["tuned.conf"]
