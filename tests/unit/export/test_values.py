"""What a knob's value is to files and ethtool, and which values no machine has."""

from __future__ import annotations

import pytest

from bayop import _core
from bayop.domains import Value
from bayop.errors import InputError
from bayop.export.values import text_of

SPELLINGS = _core.knob_spellings()


def text(knob_id: str, value: Value) -> str:
    return text_of(f"{knob_id}@somewhere", value, SPELLINGS[knob_id])


def test_each_knob_of_the_catalogue_that_others_can_spell_has_a_value() -> None:
    words = {"nic.adaptive_rx": "on", "cpu.boost": "off", "cpu.epp": "balance_power", "idle.governor": "teo"}
    texts = {knob_id: text(knob_id, words.get(knob_id, 100.0)) for knob_id in SPELLINGS}
    assert {knob_id: texts[knob_id] for knob_id in words} == words | {"cpu.boost": "0"}
    assert all(int(texts[knob_id]) == 100 * (SPELLINGS[knob_id]["factor"] or 1) for knob_id in texts.keys() - words)


def test_what_a_binary_number_only_comes_near_is_still_whole() -> None:
    assert text("power.cap_w", 80.1) == "80100000"
    assert text("napi.gro_flush_timeout_us", 0.3) == "300"


@pytest.mark.parametrize(
    ("knob_id", "value", "message"),
    [
        ("cpu.freq_mhz", "fast", "cannot use 'fast': cpu.freq_mhz must be a number in MHz"),
        ("nic.rx_frames", "few", "cannot use 'few': nic.rx_frames must be a number"),
        ("idle.max_latency_us", "low", "idle.max_latency_us must be a number in us or unlimited"),
        ("cpu.epp", "powersave", "must be default, performance, balance_performance, balance_power or power"),
        ("idle.governor", "tea", "cannot use 'tea': idle.governor must be menu, teo, ladder, haltpoll or bayop"),
        ("nic.adaptive_rx", "maybe", "cannot use 'maybe': nic.adaptive_rx must be off or on"),
        ("nic.adaptive_rx", 1.0, "cannot use '1': nic.adaptive_rx must be off or on"),
        ("cpu.boost", 1.0, "cannot use '1': cpu.boost must be off or on"),
        ("cpu.epp", "$(reboot)", "cannot use '$(reboot)': cpu.epp must be default"),
        ("cpu.epp", 128.0, "cannot use '128': cpu.epp must be default"),
        ("cpu.freq_mhz", 2.1, "cannot use '2.1MHz': cpu.freq_mhz must lie between 10MHz and 10000MHz"),
        ("nic.rx_usecs", 1e11, "cannot use '100000s': nic.rx_usecs must lie between 0us and 10s"),
        ("nic.rx_usecs", -5.0, "cannot use '-5us': nic.rx_usecs must lie between 0us and 10s"),
        ("nic.rx_usecs", float("nan"), "nic.rx_usecs must lie between 0us and 10s"),
        ("nic.rx_usecs", 100.4, "cannot use '100.4us': nic.rx_usecs must be a multiple of 1us"),
        ("nic.rx_usecs", 0.4, "cannot use '0.4us': nic.rx_usecs must be a multiple of 1us"),
        ("nic.rx_frames", 1.5, "cannot use '1.5': nic.rx_frames must be a multiple of 1"),
        ("cpu.freq_mhz", 2100.0001, "cpu.freq_mhz must be a multiple of 0.001MHz"),
    ],
)
def test_what_no_machine_has_or_would_be_rounded_is_refused_with_its_place(
    knob_id: str, value: Value, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        text(knob_id, value)
    assert message in str(caught.value)
    assert caught.value.place == f"{knob_id}@somewhere"


@pytest.mark.parametrize(
    ("knob_id", "value", "meant"), [("cpu.epp", "powersave", "power"), ("idle.governor", "tea", "teo")]
)
def test_a_word_that_is_nearly_a_kernel_s_is_guessed(knob_id: str, value: str, meant: str) -> None:
    with pytest.raises(InputError) as caught:
        text(knob_id, value)
    assert caught.value.hint == f"did you mean {meant}?"
