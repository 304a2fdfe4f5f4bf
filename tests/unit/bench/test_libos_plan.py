from __future__ import annotations

from collections import Counter

import pytest
from bench.libos.apps import APPS
from bench.libos.plan import QPS, SYSTEMS, WHOLE, Point, points

from bayop.errors import InputError

MACHINE_S = {"libos": 12, "smoltcp": 12, "linux": 25, "linux-tuned": 25}
"""How long a machine takes, to boot and to be counted."""


def test_the_whole_is_counted_within_an_hour_and_nothing_twice() -> None:
    rows = Counter((point.app, point.connections, point.qps, system) for point in WHOLE for system in point.systems)
    assert set(rows.values()) == {1}
    assert sum(5 * MACHINE_S[system] for *_, system in rows) <= 3600
    assert {point.app for point in WHOLE} == set(APPS)


def test_the_whole_has_memcached_by_connections_and_by_load() -> None:
    ours = [point for point in WHOLE if point.app == "memcached" and {"libos", "linux-tuned"} <= set(point.systems)]
    assert [point.connections for point in ours if point.qps == QPS] == [1, 16, 64, 1024]
    assert [point.qps for point in ours if point.connections == 16] == [QPS, 2000.0, 4000.0]


def test_linux_is_spared_ten_thousand_connections() -> None:
    assert [point.systems for point in WHOLE if point.connections == 10_000] == [("libos",)]


def test_of_the_whole_there_is_what_was_asked_for() -> None:
    found = points(apps=["memcached"], systems=["linux"], connections=None, qps=None)
    assert found == [Point("memcached", number, QPS, ["linux"]) for number in (1, 16, 64, 1024)]
    with pytest.raises(InputError, match="must be counted") as caught:
        points(apps=["tpcc"], systems=["linux"], connections=None, qps=None)
    assert caught.value.hint == "say --connections N, --qps Q, or both"


def test_what_is_said_is_counted_on_each_system() -> None:
    by_connections = points(apps=["tpcc"], systems=SYSTEMS, connections=[1, 64], qps=None)
    assert by_connections == [Point("tpcc", number, QPS, SYSTEMS) for number in (1, 64)]
    by_load = points(apps=["memcached"], systems=SYSTEMS, connections=None, qps=[500.0, 2000.0])
    assert by_load == [Point("memcached", 16, qps, SYSTEMS) for qps in (500.0, 2000.0)]
    assert len(points(apps=["memcached", "tpcc"], systems=SYSTEMS, connections=[1, 64], qps=[1.0, 2.0, 3.0])) == 12
