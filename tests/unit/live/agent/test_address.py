from __future__ import annotations

import pytest

from bayop.errors import InputError
from bayop.live.agent.address import PORT, SOCKET, Address, HttpAddress, HttpsAddress, UnixAddress, parse_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (SOCKET, UnixAddress("/run/bayop/agent.sock")),
        (f"agent:{SOCKET}", UnixAddress("/run/bayop/agent.sock")),
        ("https://web1", HttpsAddress("web1", PORT)),
        ("agent:https://web1", HttpsAddress("web1", PORT)),
        ("https://web1.example:443/", HttpsAddress("web1.example", 443)),
        ("https://[fe80::1]:9617", HttpsAddress("fe80::1", 9617)),
        ("http://127.0.0.1:4242", HttpAddress("127.0.0.1", 4242)),
        ("agent:http://169.254.7.2", HttpAddress("169.254.7.2", PORT)),
    ],
)
def test_an_address_is_read_and_spelt_again(text: str, address: Address) -> None:
    assert parse_address(text) == address
    assert parse_address(str(address)) == address


@pytest.mark.parametrize(
    "text",
    ["", "unix:", "unix:agent.sock", "web1:9617", "https://", "https://web1:port", "https://web1:99999", "ftp://web1",
     "https://web1/v1", "https://user@web1", "https://web1?x"],
)  # fmt: skip
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_address(text)
    assert caught.value.hint


def test_a_socket_is_one_wherever_it_is() -> None:
    with pytest.raises(InputError, match=r"^cannot use 'unix:fake\.sock': the path of a Unix socket must be absolute$"):
        parse_address("unix:fake.sock")


@pytest.mark.parametrize("host", ["web1", "localhost", "10.0.0.1", "128.0.0.1", "[::1]", "127.0.0.1.example"])
def test_tcp_without_tls_is_refused_with_the_reason_where_others_are_on_the_way(host: str) -> None:
    with pytest.raises(InputError, match="an agent must be reached over TCP with mutual TLS, as https"):
        parse_address(f"http://{host}:9617")
