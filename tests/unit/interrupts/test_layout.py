from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.interrupt_logs import PUBLISHED_HEADER

from bayop.errors import InputError
from bayop.interrupts.intlog import FIELD_COUNTS, layout_of
from bayop.interrupts.layout import COUNTERS, Layout
from bayop.interrupts.published import read_header

LINUX = layout_of(16, tsc_hz=None, energy_unit_j=None)


def test_a_sample_has_the_counters_and_the_idle_states() -> None:
    assert LINUX.sampled == (*COUNTERS, "c1", "c1e", "c3", "c6", "c7")


def test_what_can_wrap_has_a_width() -> None:
    assert {name: LINUX.bits(name) for name in LINUX.sampled} == {
        "instructions": 48, "cycles": 48, "ref_cycles": 48, "llc_misses": 48, "energy_units": 32,
        "c1": None, "c1e": None, "c3": None, "c6": None, "c7": None,
    }  # fmt: skip
    published, _ = read_header(PUBLISHED_HEADER.encode(), "line 1")
    assert {published.bits(name) for name in published.sampled} == {None}


@given(st.sampled_from(FIELD_COUNTS), st.integers(1, 10**11), st.floats(1e-9, 1.0))
def test_a_layout_survives_being_written(fields: int, tsc_hz: int, energy_unit_j: float) -> None:
    layout = layout_of(fields, tsc_hz=tsc_hz, energy_unit_j=energy_unit_j)
    assert Layout.from_json(layout.to_json()) == layout


def edited(**change: object) -> str:
    return json.dumps({**json.loads(LINUX.to_json()), **change})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "not JSON",
        edited(surprise=1),
        edited(idle_states=None),
        edited(tick_hz=0),
        edited(tsc_hz=-1),
        edited(energy_unit_j=0.0),
        edited(tick_hz="fast"),
        edited(tick_hz=1e308),
        edited(tsc_hz=10**13),
        edited(energy_unit_j="1e-6"),
        edited(energy_unit_j=1e300),
        edited(counter_bits=-1),
        edited(counter_bits=0),
        edited(counter_bits=64),
        edited(counter_bits=1e308),
        edited(counter_bits="xxx"),
        edited(counter_bits={}),
        edited(energy_bits=-1),
        edited(name=7),
        edited(idle_meaning="none"),
        edited(labels=[7]),
        edited(amounts="cpu"),
        edited(has_counters="no"),
    ],
)
def test_something_else_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="the metadata of a converted log must describe its layout") as caught:
        Layout.from_json(text)
    assert caught.value.value == text[:200]
