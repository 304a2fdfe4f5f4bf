from __future__ import annotations

import pytest

from bayop.errors import BayopError, DriftError, InputError, UnsupportedError


def test_the_message_has_place_rule_and_value_in_this_order() -> None:
    error = InputError("a load is positive", value=-3, place="--load", hint="try 600000")
    assert str(error) == "--load: a load is positive, but got -3"
    assert error.hint == "try 600000"


def test_the_message_of_a_bare_rule_is_the_rule() -> None:
    assert str(BayopError("something must hold")) == "something must hold"


def test_a_place_is_added_where_it_is_known_and_never_overwritten() -> None:
    error = InputError("a load is positive", value=-3, hint="h").at("--load")
    assert isinstance(error, InputError)
    assert (error.place, error.value, error.hint) == ("--load", -3, "h")
    assert error.at("elsewhere").place == "--load"


@pytest.mark.parametrize(
    ("kind", "exit_code"), [(BayopError, 1), (InputError, 2), (DriftError, 3), (UnsupportedError, 4)]
)
def test_exit_codes_are_those_of_the_protocol(kind: type[BayopError], exit_code: int) -> None:
    assert kind("rule").exit_code == exit_code
