"""A setting in others' words: order, places, values, and what nobody else can say."""

from __future__ import annotations

import pytest

from bayop import _core
from bayop.errors import InputError
from bayop.export import Coalescing, FileValue, Spelled, spell
from bayop.space import Setting

SPELLINGS = _core.knob_spellings()


def spelled(setting: Setting, device: str | None = None) -> Spelled:
    return spell(setting, SPELLINGS, device)


def test_a_switch_comes_before_what_it_would_take_over() -> None:
    setting = {"nic.rx_frames@eth0": 16.0, "nic.rx_usecs@eth0": 100.0}
    parameters = [(each.parameter, each.value) for each in spelled(setting).coalescing]
    assert parameters == [("adaptive-rx", "off"), ("rx-frames", "16"), ("rx-usecs", "100")]


def test_files_have_their_own_units_words_and_order() -> None:
    policies = "/sys/devices/system/cpu/cpufreq/policy*"
    assert spelled({"cpu.freq_mhz": 2100.0}).files == (
        FileValue("cpu.freq_mhz@policy*", f"{policies}/scaling_max_freq", "2100000"),
        FileValue("cpu.freq_mhz@policy*", f"{policies}/scaling_min_freq", "2100000"),
    )
    (cap,) = spelled({"power.cap_w@intel-rapl:0/1": 80.5}).files
    assert (cap.pattern, cap.text) == ("/sys/class/powercap/intel-rapl:0/constraint_1_power_limit_uw", "80500000")
    texts = [spelled({"idle.max_latency_us@cpu1": value}).files[0].text for value in (0.0, 20.0, "unlimited")]
    assert texts == ["n/a", "20", "0"], "0 us and no limit are spelled the other way round than one would think"


def test_a_device_is_that_of_the_setting_or_else_the_caller_s() -> None:
    assert spelled({"nic.rx_usecs@eth1": 1.0, "nic.tx_usecs": 2.0}, "eth0").devices == ("eth0", "eth1")
    assert spelled({"nic.adaptive_rx": "on"}, "eth0").coalescing == (
        Coalescing("nic.adaptive_rx@eth0", "eth0", "adaptive-rx", "UseAdaptiveRxCoalesce", "on"),
    )


def test_what_is_auto_is_left_out() -> None:
    assert spelled({"nic.rx_usecs@eth0": "auto", "cpu.epp": "power"}).setting == {"cpu.epp@policy*": "power"}


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"nic.rx_usecs": "auto"}, "there is nothing to export"),
        ({"cpu.perf_ctl_mhz@cpu0": 2000.0, "cpu.epp": "power"}, "nobody but bayop-agent sets cpu.perf_ctl_mhz@cpu0"),
        ({"idle.disable@C6": "on"}, "nobody but bayop-agent sets idle.disable@C6"),
        ({"nic.rx_usecs": 100.0}, "nic.rx_usecs has no place"),
        ({"power.cap_w": 80.0}, "power.cap_w has no place"),
        ({"nic.rx_usecs@eth0/rx-1": 100.0}, "no single queue of a device"),
        ({"napi.defer_hard_irqs@eth0/rx-1": 1.0}, "no single queue of a device"),
        ({"cpu.boost@policy0": "off"}, "cannot use 'policy0': cpu.boost must be of the whole machine"),
        ({"power.cap_w@intel-rapl:0": 80.0}, "cannot use 'intel-rapl:0': the place of power.cap_w must have two names"),
        ({"cpu.freq_mhz@policy0/1": 2100.0}, "the place of cpu.freq_mhz must have one name"),
        ({"nic.rx_usecs@eth*": 9.0}, "cannot use 'eth*': a place must be a name"),
        ({"nic.adaptive_rx@eth0": "on", "nic.rx_usecs@eth0": 9.0}, "wants adaptive-rx on, and nic.rx_usecs@eth0"),
        ({"nic.rx_usecs@eth0; reboot": 9.0}, "cannot use 'eth0; reboot': a place must be a name"),
        (
            {"nic.rx_usecs@eth0": 9.0, "nic.rx_usecs@*": 8.0},
            "nic.rx_usecs@eth0 and nic.rx_usecs@* have places in common",
        ),
        ({"cpu.freq_mhz": 2100.0, "cpu.freq_mhz@policy0": 9.0}, "must name each knob of a place once"),
    ],
)
def test_what_can_t_be_said_is_refused(setting: Setting, message: str) -> None:
    with pytest.raises(InputError) as caught:
        spelled(setting)
    assert message in str(caught.value)
    assert caught.value.hint or caught.value.value or "nothing to export" in message


def test_who_has_no_place_is_told_what_to_type() -> None:
    with pytest.raises(InputError) as caught:
        spelled({"power.cap_w": 90.0})
    assert str(caught.value.hint).startswith("bayop export power.cap_w@intel-rapl:0/0=90W, or")


@pytest.mark.parametrize(
    ("setting", "device", "message"),
    [
        ({"nic.rx_usecs": 100.0}, "a b", "cannot use 'a b': a place must be a name"),
        ({"nic.rx_usecs": 9.0, "nic.rx_usecs@eth0": 8.0}, "eth0", "nic.rx_usecs@eth0 comes twice"),
        ({"nic.rx_usecs@eth0": 100.0}, "eth1", "no knob of the setting is for eth1"),
        ({"cpu.epp": "power"}, "eth1", "no knob of the setting is for eth1"),
    ],
)
def test_a_device_that_is_none_or_not_needed_is_refused(setting: Setting, device: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        spelled(setting, device)
    assert message in str(caught.value)
