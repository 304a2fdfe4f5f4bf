"""What the host of an address is."""

from __future__ import annotations

from ipaddress import ip_address


def is_ip_address(host: str) -> bool:
    """Whether it is one, of either kind, and no name."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Whether it is this machine itself, so that nobody else reads what is sent there."""
    return ip_address(host).is_loopback if is_ip_address(host) else host == "localhost"
