"""Our own TPC-C under `bayop load`, which knows it as a memcached that has every key."""

from __future__ import annotations

import pytest
from tests.support.servers import load, result_of

pytestmark = pytest.mark.alone


def test_every_request_is_a_transaction(tpcc: str) -> None:
    result = result_of(load("-s", tpcc, "--binary", "--noload", "-q", "500qps", "-t", "1s", "-w", "0s", "--json"))
    counts = result["counts"]
    assert counts["answered"] == counts["intended"] > 300
    assert (counts["misses"], counts["refused"]) == (0, 0)
