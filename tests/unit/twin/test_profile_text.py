from __future__ import annotations

import pytest

from bayop.errors import InputError
from bayop.twin.profile_library import parse_profile, profile_names, read_profile
from bayop.twin.profile_text import with_numbers


@pytest.mark.parametrize("name", profile_names())
def test_changes_the_numbers_that_are_named_and_nothing_else(name: str) -> None:
    text, source = read_profile(name)
    values = {"app.request_kcycles": 1.5, "machine.idle_states.3.wake_us": 0.25, "machine.power.static_w": 123456.7}
    changed = with_numbers(text, values)
    before, after = text.splitlines(), changed.splitlines()
    different = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    assert len(different) == 3
    for old, new in different:
        assert old.partition("#")[2] == new.partition("#")[2], "comments stay"
    expected = {"app.request_kcycles": 1.5, "machine.idle_states.3.wake_us": 0.25}
    parsed = parse_profile(changed.replace("123460.0", "40"), source=source).values()
    assert {key: parsed[key] for key in expected} == expected


def test_nothing_to_change_is_no_change() -> None:
    text, _ = read_profile("linux-memcached")
    assert with_numbers(text, {}) == text


def test_a_number_without_a_line_of_its_own_is_refused() -> None:
    text, _ = read_profile("linux-memcached")
    with pytest.raises(InputError, match=r"cannot use \'machine\.freq_mhz\.0\': .* must have a line of its own"):
        with_numbers(text, {"machine.freq_mhz.0": 1000.0})
