from __future__ import annotations

import pytest

from bayop.errors import InputError
from bayop.load.http_request import check_header


@pytest.mark.parametrize("text", ["Accept: text/html", "x-empty:", "Cookie: id={n}", "Name: caf\u00e9"])
def test_a_header_is_given_as_it_is(text: str) -> None:
    assert check_header(text) == text


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Accept", "a header must be a name, a colon and a value"),
        ("two words: 1", "the name of a header must be letters, digits and any of !#$%&'*+-.^_`|~"),
        (": 1", "the name of a header must be letters"),
        ("A: b\r\nHost: elsewhere", "the value of a header must have no line breaks"),
        ("content-length: 5", "a header must leave the length of the body to the generator"),
        ("Transfer-Encoding: chunked", "a header must leave the length of the body to the generator"),
        ("Connection: close", "a header must leave it to the generator which connections are kept"),
        ("Expect: 100-continue", "a header must not ask for an interim response"),
    ],
)
def test_a_header_that_cannot_be_sent_is_refused_and_why(text: str, rule: str) -> None:
    with pytest.raises(InputError) as caught:
        check_header(text)
    assert rule in str(caught.value.rule)
    assert (caught.value.value, caught.value.place) == (text, None)
