"""TCP of the library OS against Linux's, through a network that loses, repeats and delays frames."""

from __future__ import annotations

import pytest
from bench.libos.tcp.run import measure
from tests.support.needs import need

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("libos_image")]


def test_everything_comes_through_and_no_connection_is_left() -> None:
    need("namespaces", "qemu-system-x86_64")
    good, bad, connections = measure(megabytes=8, connections=500, seed=1)
    assert good.result.startswith("intact")
    assert bad.result.startswith("intact")
    assert bad.duration_s > good.duration_s, "the network was as bad as it was told to be"
    assert connections.result.startswith("all answered, none left")
