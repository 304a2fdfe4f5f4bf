from __future__ import annotations

import pytest

from bayop.last_words import LastWords


@pytest.mark.parametrize(
    ("stderr", "words"),
    [
        ("", (None, None, None)),
        (" \n", (None, None, None)),
        ("ssh: no route\nlost\n", (None, None, "lost")),
        ("error: no such host\nhint: look it up\n", ("no such host", "look it up", "hint: look it up")),
        ("hint: before\nerror: no such host\n", ("no such host", None, "error: no such host")),
        ("error: one\nhint: a\nerror: two\n", ("two", None, "error: two")),
    ],
)
def test_what_our_programs_say_is_told_apart(stderr: str, words: tuple[str | None, ...]) -> None:
    said = LastWords.of(stderr)
    assert (said.error, said.hint, said.line) == words
