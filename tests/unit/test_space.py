from __future__ import annotations

import math

import pytest

from bayop.domains import Choices, Condition, Range, Steps, Value
from bayop.errors import InputError
from bayop.space import (
    AUTO,
    FREQ_MHZ,
    RX_USECS,
    Knob,
    Space,
    default_setting,
    fastest_setting,
    format_setting,
    is_default,
    setting_key,
)
from bayop.testing.fakes import nic_and_cpu_space

DELAY = Knob(RX_USECS, Steps(2, 10, 2), auto=True, safest="low")
FREQ = Knob(FREQ_MHZ, Choices((1300, 2100, 2900)), safest="high")
GOVERNOR = Knob("idle.governor", Choices(("menu", "teo")))
SPACE = Space((DELAY, FREQ))


def test_auto_is_a_value_of_a_knob_that_can_be_handed_back() -> None:
    assert DELAY.values() == (2, 4, 6, 8, 10, AUTO)
    assert DELAY.numbers() == (2, 4, 6, 8, 10)
    assert GOVERNOR.numbers() == ()


@pytest.mark.parametrize(
    ("knob", "text", "value"),
    [
        (DELAY, "4", 4),
        (DELAY, "4us", 4),
        (DELAY, "0.004ms", 4),
        (DELAY, "auto", AUTO),
        (FREQ, "2.1GHz", 2100),
        (GOVERNOR, "teo", "teo"),
    ],
)
def test_reads_a_value_with_or_without_its_unit(knob: Knob, text: str, value: Value) -> None:
    assert knob.parse(text) == value


@pytest.mark.parametrize(
    ("knob", "text", "rule", "hint"),
    [
        (DELAY, "5us", "nic.rx_usecs must be 2us to 10us in steps of 2us, or auto", "the nearest value is 4us"),
        (DELAY, "400us", "nic.rx_usecs must be 2us to 10us in steps of 2us, or auto", "the nearest value is 10us"),
        (DELAY, "1e300", "nic.rx_usecs must be 2us to 10us in steps of 2us, or auto", "the nearest value is 10us"),
        (FREQ, "auto", "cpu.freq_mhz must be one of 1300MHz, 2100MHz, 2900MHz", None),
        (FREQ, "2.2GHz", "cpu.freq_mhz must be one of 1300MHz, 2100MHz, 2900MHz", "the nearest value is 2100MHz"),
        (FREQ, "2.1", "cpu.freq_mhz must be one of 1300MHz, 2100MHz, 2900MHz", "did you mean 2.1GHz?"),
        (FREQ, "50us", "it must be a frequency", "write it in MHz"),
        (DELAY, "fast", "a quantity must be a number and a unit such as 50us", None),
        (GOVERNOR, "ladder", "idle.governor must be one of menu, teo", None),
        (GOVERNOR, "3", "idle.governor must be one of menu, teo", None),
    ],
)
def test_refuses_a_value_outside_the_domain(knob: Knob, text: str, rule: str, hint: str | None) -> None:
    with pytest.raises(InputError) as caught:
        knob.parse(text)
    assert (caught.value.rule, caught.value.hint) == (rule, hint)
    assert knob.id in caught.value.message


@pytest.mark.parametrize("value", [math.nan, math.inf, -1, 3, "4"])
def test_checks_programs_as_strictly_as_people(value: Value) -> None:
    with pytest.raises(InputError) as caught:
        DELAY.check(value)
    assert RX_USECS in caught.value.message


def test_a_knob_of_a_billion_values_is_set_at_once_and_not_listed() -> None:
    fine = Knob(RX_USECS, Steps(0.0, 1e6, 0.001), auto=True)
    assert fine.parse("123.456us") == fine.check(123.456) == 123.456
    assert fine.check(AUTO) == AUTO
    with pytest.raises(InputError) as caught:
        fine.check(0.0004)
    assert caught.value.hint == "the nearest value is 0us"
    with pytest.raises(InputError, match="are 1000000001 values; a domain must have at most 1000000 values"):
        fine.values()


def test_a_checked_setting_has_the_order_and_the_spelling_of_the_space() -> None:
    checked = SPACE.check({FREQ_MHZ: 2100.0000000001, RX_USECS: 4.0})
    assert list(checked.items()) == [(RX_USECS, 4), (FREQ_MHZ, 2100)]


def test_a_mistyped_knob_gets_a_suggestion() -> None:
    with pytest.raises(InputError, match=r"there is no knob 'nic\.rx_usec' here") as caught:
        SPACE.check({"nic.rx_usec": 4, FREQ_MHZ: 2100})
    assert caught.value.hint == "did you mean nic.rx_usecs?"


def test_a_foreign_knob_gets_the_list() -> None:
    with pytest.raises(InputError) as caught:
        SPACE["power.cap_w"]
    assert caught.value.hint == "this target has nic.rx_usecs, cpu.freq_mhz"


def test_a_missing_knob_is_named() -> None:
    with pytest.raises(InputError, match="a setting must have a value for every knob") as caught:
        SPACE.check({RX_USECS: 4})
    assert caught.value.hint == "add cpu.freq_mhz"


@pytest.mark.parametrize("knobs", [(), (DELAY, DELAY)])
def test_a_space_has_knobs_each_once(knobs: tuple[Knob, ...]) -> None:
    with pytest.raises(InputError, match="a space must have at least one knob, each once"):
        Space(knobs)


SWITCH = Knob("nic.adaptive_rx", Choices(("off", "on")))
OFF = (Condition("nic.adaptive_rx", ("off",)),)
SWITCHED = Space((Knob(RX_USECS, Steps(2, 6, 2), auto=True, safest="low", only_with=OFF), SWITCH)).without_auto()


def test_a_knob_that_does_not_matter_has_one_value() -> None:
    assert [tuple(s.values()) for s in SWITCHED.settings()] == [(2, "off"), (AUTO, "on"), (4, "off"), (6, "off")]
    assert dict(SWITCHED.check({RX_USECS: 4, "nic.adaptive_rx": "on"})) == {RX_USECS: AUTO, "nic.adaptive_rx": "on"}
    with pytest.raises(InputError, match="must be 2us to 6us in steps of 2us"):
        SWITCHED.check({RX_USECS: AUTO, "nic.adaptive_rx": "off"})
    with pytest.raises(InputError, match="must be 2us to 6us in steps of 2us"):
        SWITCHED.check({RX_USECS: 5, "nic.adaptive_rx": "on"})


def test_a_knob_that_begins_to_matter_is_at_its_fastest() -> None:
    adaptive = {RX_USECS: AUTO, "nic.adaptive_rx": "on"}
    assert dict(SWITCHED.moved(adaptive, "nic.adaptive_rx", "off")) == {RX_USECS: 2, "nic.adaptive_rx": "off"}
    assert dict(fastest_setting(SWITCHED)) == {RX_USECS: 2, "nic.adaptive_rx": "off"}


def test_a_knob_that_does_not_matter_is_said_to() -> None:
    assert SWITCHED.format({RX_USECS: AUTO, "nic.adaptive_rx": "on"}) == (
        "nic.rx_usecs not in effect, nic.adaptive_rx on"
    )
    assert SWITCHED.format_each({RX_USECS: 4, "nic.adaptive_rx": "off"}) == ["4us", "off"]
    assert SWITCHED.describe()[RX_USECS] == {
        "low": 2, "high": 6, "step": 2, "only_with": {"nic.adaptive_rx": {"choices": ["off"]}}, "unit": "us",
        "auto": False,
    }  # fmt: skip


def test_what_decides_must_matter_itself() -> None:
    size = Knob("app.size", Steps(1, 2, 1), only_with=(Condition(RX_USECS, Range(4, 6)),))
    space = Space((*SWITCHED.knobs, size))
    assert [space.matters("app.size", {RX_USECS: d, "nic.adaptive_rx": "off", "app.size": 1}) for d in (2, 4)] == [
        False,
        True,
    ]
    assert not space.matters("app.size", {RX_USECS: 4, "nic.adaptive_rx": "on", "app.size": 1})


def test_a_condition_on_a_knob_that_is_not_there_keeps_nothing_from_mattering() -> None:
    assert Space((SWITCHED[RX_USECS],)).matters(RX_USECS, {RX_USECS: 2})


@pytest.mark.parametrize("others", [("app.a",), ("app.b",), ("app.c", "app.b")])
def test_knobs_that_matter_only_with_each_other_are_refused(others: tuple[str, ...]) -> None:
    circle = {"app.a": others, "app.b": ("app.c",), "app.c": ("app.a",)}
    knobs = (Knob(i, SWITCH.domain, only_with=tuple(Condition(o, ("on",)) for o in only)) for i, only in circle.items())
    with pytest.raises(InputError, match="knobs must not matter only with each other"):
        Space(tuple(knobs))


def test_lists_every_setting_once() -> None:
    settings = SPACE.settings()
    assert len(settings) == 6 * 3
    assert dict(settings[1]) == {RX_USECS: 2, FREQ_MHZ: 2100}
    assert len({tuple(s.items()) for s in settings}) == 18


def test_settings_can_not_be_changed_behind_ones_back() -> None:
    with pytest.raises(TypeError):
        SPACE.settings()[0][RX_USECS] = 400  # type: ignore[index]


def test_a_search_may_do_without_auto() -> None:
    assert AUTO not in SPACE.without_auto()[RX_USECS].values()


def test_a_search_of_one_knob_leaves_the_other_alone() -> None:
    only = nic_and_cpu_space(Steps(2, 10, 2), Steps(1300, 2900, 100), auto=True).only([FREQ_MHZ])
    assert only[RX_USECS].values() == (AUTO,)
    assert AUTO not in only[FREQ_MHZ].values()


def test_a_knob_that_can_not_be_left_alone_is_named() -> None:
    with pytest.raises(InputError, match=r"would leave cpu\.freq_mhz to the operating system") as caught:
        SPACE.only([RX_USECS])
    assert caught.value.place == FREQ_MHZ


def test_a_search_of_an_unknown_knob_is_refused() -> None:
    with pytest.raises(InputError, match=r"there is no knob 'nic\.rx_frames' here"):
        SPACE.only(["nic.rx_frames"])


def test_the_default_is_auto_everywhere() -> None:
    assert dict(default_setting(SPACE)) == {RX_USECS: AUTO, FREQ_MHZ: AUTO}
    assert is_default(default_setting(SPACE))
    assert not is_default({RX_USECS: 2, FREQ_MHZ: AUTO})


def test_the_default_is_a_setting_where_every_knob_can_be_handed_back() -> None:
    assert Space((DELAY,)).auto
    assert not SPACE.auto


def test_the_same_setting_may_be_any_mapping_in_any_order_with_any_type_of_number() -> None:
    setting, same = SPACE.check({RX_USECS: 2, FREQ_MHZ: 2900}), {FREQ_MHZ: 2900.0, RX_USECS: 2.0}
    assert setting == same
    assert same == setting
    assert setting == SPACE.check(same)
    assert setting_key(setting) == setting_key(same)
    other = SPACE.check({RX_USECS: 2, FREQ_MHZ: 2100})
    assert setting != other
    assert setting_key(setting) != setting_key(other)


def test_describes_itself_to_programs_and_people() -> None:
    assert SPACE.describe() == {
        RX_USECS: {"low": 2, "high": 10, "step": 2, "unit": "us", "auto": True},
        FREQ_MHZ: {"choices": [1300, 2100, 2900], "unit": "MHz", "auto": False},
    }
    assert format_setting({RX_USECS: 4, FREQ_MHZ: AUTO}) == "nic.rx_usecs 4us, cpu.freq_mhz auto"
    assert Knob(RX_USECS, Steps(4, 4, 2)).describe() == "only 4us"


def test_the_fastest_setting_of_knobs_that_nobody_knows() -> None:
    space = Space((Knob("a.x", Choices((1, 2, 3))), Knob("b.y", Choices(("p", "q")), auto=True)))
    assert dict(fastest_setting(space)) == {"a.x": 2, "b.y": AUTO}


@pytest.mark.parametrize(
    ("chosen", "values"),
    [
        (Range(4, 8), (4, 6, 8)),
        (Range(2, 10, 4), (2, 6, 10)),
        (Range(2, 9, 4), (2, 6)),
        (Range(6, 6), (6,)),
    ],
)
def test_a_search_may_look_at_some_numbers(chosen: Range, values: tuple[float, ...]) -> None:
    assert SPACE.within({RX_USECS: chosen})[RX_USECS].numbers() == values


def test_a_range_ends_at_the_last_number_that_its_steps_reach() -> None:
    assert SPACE[RX_USECS].within(Range(2, 9, 4)).describe() == "2us to 6us in steps of 4us, or auto"


def test_a_range_of_listed_numbers_takes_some_of_them() -> None:
    assert SPACE.within({FREQ_MHZ: Range(1300, 2500)})[FREQ_MHZ].values() == (1300, 2100)


@pytest.mark.parametrize(
    ("knob_id", "chosen"),
    [
        (RX_USECS, Range(0, 8)),
        (RX_USECS, Range(4, 12)),
        (RX_USECS, Range(3, 9)),
        (RX_USECS, Range(2, 10, 3)),
        (FREQ_MHZ, Range(2200, 2800)),
        (FREQ_MHZ, Range(1300, 2900, 800)),
    ],
)
def test_a_range_that_does_not_fit_says_what_would(knob_id: str, chosen: Range) -> None:
    with pytest.raises(InputError, match=f"{knob_id} must be ") as caught:
        SPACE.within({knob_id: chosen})
    assert str(chosen) in caught.value.message


@pytest.mark.parametrize(
    ("domain", "chosen", "hint"),
    [
        (Steps(1200, 2900, 100), Range(1.3, 2.9), "did you mean 1.3GHz:2.9GHz?"),
        (Steps(1200, 2900, 100), Range(1.3, 2.9, 0.2), "did you mean 1.3GHz:2.9GHz:0.2GHz?"),
        (Choices((1300, 2100, 2900)), Range(1.3, 2.5), "did you mean 1.3GHz:2.5GHz?"),
        (Steps(1200, 2900, 100), Range(0.1, 2.9), None),
        (Steps(1200, 2900, 100), Range(1300, 3500), None),
    ],
)
def test_a_range_in_ghz_is_told_from_one_in_mhz(domain: Steps | Choices, chosen: Range, hint: str | None) -> None:
    with pytest.raises(InputError) as caught:
        Knob(FREQ_MHZ, domain, auto=True).within(chosen)
    assert (caught.value.place, caught.value.hint) == ("range", hint)


def test_a_range_of_a_knob_that_is_not_searched_is_refused() -> None:
    with pytest.raises(InputError, match="a range must be of a knob that is searched"):
        SPACE.within({"power.cap_w": Range(1, 2)})


def test_what_is_safest_is_an_end() -> None:
    with pytest.raises(InputError, match="'least': what is safest must be low or high"):
        Knob("app.workers", Steps(1, 24, 1), safest="least")  # type: ignore[arg-type]
