from __future__ import annotations

import pytest

from lab.errors import LabError
from lab.qemu import Ports, forward_command, parse_port, parse_ports

USERNET = """\
Hub -1 (net):\r
  Protocol[State]    FD  Source Address  Port   Dest. Address  Port RecvQ SendQ\r
  TCP[ESTABLISHED]   12       127.0.0.1 50000       10.0.2.15 11211     0     0\r
  TCP[HOST_FORWARD]  10       127.0.0.1 40340       10.0.2.15  9617     0     0\r
  TCP[HOST_FORWARD]   8       127.0.0.1 39277       10.0.2.15 11211     0     0\r
  UDP[HOST_FORWARD]   3       127.0.0.1 40994       10.0.2.15 11211     0     0\r
"""
MORE = "  TCP[HOST_FORWARD]   9       127.0.0.1 34067       10.0.2.15  7000     0     0\r\n"


def test_the_forwarded_ports_are_told_apart() -> None:
    assert parse_ports(USERNET) == Ports(memcached=39277, memcached_udp=40994, agent=40340)


def test_a_port_that_is_missing_is_an_error() -> None:
    with pytest.raises(LabError, match="QEMU does not forward the ports of memcached and of the agent"):
        parse_ports(USERNET.replace("9617", "9618"))


def test_a_port_that_is_forwarded_later_is_found_by_the_guests() -> None:
    assert forward_command(7000) == "hostfwd_add net tcp:127.0.0.1:0-10.0.2.15:7000"
    assert parse_port(USERNET + MORE, 7000) == 34067
    with pytest.raises(LabError, match="QEMU does not forward a port to the guest's 7000"):
        parse_port(USERNET, 7000)
