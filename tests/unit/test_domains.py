from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayop.domains import Choices, Range, Steps, Value, parse_range
from bayop.errors import InputError
from bayop.space import RX_USECS


def test_steps_include_both_ends_and_stay_round() -> None:
    assert Steps(2, 10, 2).values() == (2, 4, 6, 8, 10)
    assert Steps(0.1, 0.5, 0.1).values() == (0.1, 0.2, 0.3, 0.4, 0.5)
    assert Steps(2, 9, 2).values() == (2, 4, 6, 8)
    assert Steps(5, 5, 1).values() == (5,)


@pytest.mark.parametrize(
    ("low", "high", "step"), [(3, 2, 1), (1, 2, 0), (1, 2, -1), (1, math.inf, 1), (math.nan, 2, 1), (1, 2, math.nan)]
)
def test_refuses_steps_that_lead_nowhere(low: float, high: float, step: float) -> None:
    with pytest.raises(InputError, match="a domain must have low <= high and a positive step"):
        Steps(low, high, step)


@pytest.mark.parametrize("options", [(), (1, 1), ("a", "a")])
def test_refuses_choices_that_are_none(options: tuple[Value, ...]) -> None:
    with pytest.raises(InputError, match="a domain must list at least one value, each once"):
        Choices(options)


@given(
    st.integers(-50, 50),
    st.integers(0, 400),
    st.sampled_from([0.001, 0.1, 0.25, 1.0, 3.0, 50.0]),
    st.lists(st.tuples(st.floats(-100, 500), st.floats(0, 60)), max_size=3),
    st.floats(-1000, 5000) | st.integers(-100, 500),
)
def test_finds_a_number_among_many_as_if_it_looked_at_all(
    low: int, width: int, step: float, reserved: list[tuple[float, float]], value: float
) -> None:
    steps = Steps(low, low + width * step * 1.01, step, tuple((a, a + b) for a, b in reserved))
    numbers = steps.values()
    inside = min(max(value, steps.low), steps.high)
    nearest = steps.nearest(value)
    assert (nearest is None) == (not numbers)
    if nearest is not None:
        assert nearest in numbers
        assert abs(nearest - inside) <= min(abs(number - inside) for number in numbers) + 1e-6
    assert [steps.spelled(number) for number in numbers] == list(numbers)
    assert steps.spelled(value) == next((n for n in numbers if n == value or math.isclose(n, value)), None)


@pytest.mark.parametrize(
    ("domain", "chosen", "narrowed"),
    [
        (Steps(2, 10, 2), Range(2, 9, 4), Steps(2, 6, 4)),
        (Steps(2, 10, 2, ((4, 4),)), Range(2, 6), Steps(2, 6, 2, ((4, 4),))),
        (Steps(2, 10, 2, ((4, 4),)), Range(4, 8), None),
        (Steps(2, 10, 2), Range(2, 10, 3), None),
        (Choices((2900, "auto", 1300, 2100)), Range(1300, 2500), Choices((1300, 2100))),
        (Choices((1300, 2100)), Range(1300, 2100, 800), None),
        (Choices((1300, 2100)), Range(1400, 2000), None),
    ],
)
def test_a_range_narrows_a_domain_that_has_its_numbers(
    domain: Steps | Choices, chosen: Range, narrowed: Steps | Choices | None
) -> None:
    assert domain.within(chosen) == narrowed


@pytest.mark.parametrize(
    ("knob_id", "text", "parsed"),
    [
        (RX_USECS, "0:1ms:20us", Range(0, 1000, 20)),
        (RX_USECS, "50:50", Range(50, 50)),
        ("app.threads", "2:8", Range(2, 8)),
    ],
)
def test_reads_a_range_with_or_without_units(knob_id: str, text: str, parsed: Range) -> None:
    assert parse_range(knob_id, text) == parsed


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("4", "a range must be LOW:HIGH or LOW:HIGH:STEP"),
        ("2:few", "a range must be made of numbers"),
        ("8:2", "a range must have LOW <= HIGH and a positive STEP"),
        ("2:8:0", "a range must have LOW <= HIGH and a positive STEP"),
    ],
)
def test_refuses_what_is_no_range(text: str, rule: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_range("app.threads", text)
    assert caught.value.rule == rule
