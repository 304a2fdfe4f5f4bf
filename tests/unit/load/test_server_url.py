from __future__ import annotations

import pytest

from bayop.errors import InputError
from bayop.load.server_url import ServerUrl


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("memcached://web1:11211", ("memcached", "web1:11211", "/")),
        ("memcached://web1/", ("memcached", "web1", "/")),
        ("http://web1/health?deep=1", ("http", "web1", "/health?deep=1")),
        ("redis://[::1]:6379", ("redis", "[::1]:6379", "/")),
    ],
)
def test_a_server_is_read(text: str, parts: tuple[str, str, str]) -> None:
    assert ServerUrl.parse(text) == parts


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("web1:11211", "a server must be PROTOCOL://HOST:PORT", "one of "),
        ("memcachd://web1", "there is no protocol 'memcachd'", "did you mean memcached?"),
        ("https://web1", "there is no protocol 'https'", "http, of a server without TLS"),
        ("redis://web1/keys", "a path must be that of http", ""),
        ("http://user@web1/", "a server must be PROTOCOL://HOST:PORT", "one of "),
    ],
)
def test_what_is_no_server_is_refused(text: str, message: str, hint: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        ServerUrl.parse(text)
    assert (caught.value.hint or "").startswith(hint)
