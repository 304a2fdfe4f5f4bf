"""Errors about parameters, as whoever typed flags sees them."""

from __future__ import annotations

import pytest

from bayop.cli.flags.actions import with_flag
from bayop.cli.parser import build_parser
from bayop.errors import InputError


@pytest.mark.parametrize(
    ("words", "place", "said"),
    [
        ("load", "duration_s", "--time"),
        ("load", "authorities", "--cacert"),
        ("load", "protocol", "--protocol"),
        ("tune", "only", "--only"),
        ("tune", "small_steps", "--small-steps"),
        ("app start nginx", "port", "--port"),
        ("app start nginx", "app", "app"),
        ("tune", "port", "port"),
        ("tune", "live.toml:3", "live.toml:3"),
        ("tune", None, None),
    ],
)
def test_a_parameter_is_named_by_the_first_flag_that_gives_it(words: str, place: str | None, said: str | None) -> None:
    typed = words.split()
    args = build_parser(typed).parse_args(typed)
    error = with_flag(InputError("it must be so", value=3, place=place, hint="h"), args)
    assert (error.place, error.value, error.hint) == (said, 3, "h")
