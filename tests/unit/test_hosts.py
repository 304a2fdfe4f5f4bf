from __future__ import annotations

import pytest

from bayop.hosts import is_ip_address, is_loopback


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "localhost"])
def test_this_machine_by_any_of_its_names(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["web1", "192.0.2.1", "2001:db8::1", "localhost.example.com", "127.0.0.1.example.com", ""]
)
def test_another_machine_is_not_this_one(host: str) -> None:
    assert not is_loopback(host)


def test_a_name_is_no_address() -> None:
    assert [is_ip_address(host) for host in ("127.0.0.1", "::1", "localhost", "1.2.3")] == [True, True, False, False]
