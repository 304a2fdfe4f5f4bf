from __future__ import annotations

import pytest

from bayop.carbon.grid import Grid
from bayop.carbon.stack import Stack


@pytest.fixture(scope="session")
def stack() -> Stack:
    """A new server under memcached."""
    return Stack(
        "new",
        "memcached",
        {"cpu": 15.1, "dram": 172.5, "ssd": 34.3},
        reused=False,
        power_w=236.8,
        qps=1.6e6,
        network_bytes_per_s=5e9,
        network_j_per_byte=2.7e-6,
    )


@pytest.fixture(scope="session")
def grid() -> Grid:
    """A grid that never changes."""
    return Grid((277.3,))
