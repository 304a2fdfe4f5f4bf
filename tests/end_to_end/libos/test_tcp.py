"""TCP of the library OS against Linux's, through a network that loses, repeats and delays frames, and under attack."""

from __future__ import annotations

import re

import pytest
from bench.libos.tcp.run import connections, flood, resets, silence, streams
from tests.support.needs import need

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("libos_image")]


@pytest.fixture(autouse=True)
def _has_namespaces() -> None:
    need("namespaces", "qemu-system-x86_64")


def test_everything_comes_through_and_no_connection_is_left() -> None:
    good, bad = streams(megabytes=8, seed=1)
    (opened,) = connections(500)
    assert good.result.startswith("intact")
    assert bad.result.startswith("intact")
    assert bad.duration_s > good.duration_s, "the network was as bad as it was told to be"
    assert opened.result.startswith("all answered, none left")


def test_a_flood_keeps_nobody_out() -> None:
    (row,) = flood(1)
    found = re.fullmatch(r"(\d+) of (\d+) connections beside it .* (\d+)\.\d MiB taken", row.result.replace(",", ""))
    assert found
    answered, tried, taken_mib = map(int, found.groups())
    assert answered >= 0.9 * tried > 0
    assert taken_mib < 8, "half-open connections are bounded"


def test_who_has_a_connection_resets_it_in_every_state_and_nobody_else_does() -> None:
    (row,) = resets()
    assert row.amount == "in 8 states"


def test_who_reads_late_reads_all_and_who_never_does_takes_no_more_than_is_bounded() -> None:
    late, never = silence(1, 200)
    assert late.result.endswith("intact")
    found = re.search(r"killed none left; (\d+) KiB each a second time 0 more", never.result.replace(",", ""))
    assert found
    assert int(found[1]) < 160
