"""Interrupt logs on a real Ray cluster of two nodes: the result of one machine to the last bit, though a node dies."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.support.interrupt_logs import drawn_lines, state_of, write_lines
from tests.support.needs import need

from bayop.errors import InputError
from bayop.interrupts import log as log_module
from bayop.interrupts.cluster import summarise_on_cluster
from bayop.interrupts.log import Log, open_log
from bayop.interrupts.query import summarise

pytestmark = [pytest.mark.slow, pytest.mark.weekly, pytest.mark.timeout(600), pytest.mark.filterwarnings("default")]

PIECE_BYTES = 2**17


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A head that runs no tasks, and two nodes that do."""
    need("ray")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        utils: Any = import_module("ray.cluster_utils")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    memory = {"object_store_memory": 100 * 2**20}
    nodes = utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **memory})
    nodes.workers = [nodes.add_node(num_cpus=1, **memory) for _ in range(2)]
    nodes.wait_for_nodes()
    yield nodes
    nodes.shutdown()


@pytest.fixture
def logs(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> list[Log]:
    monkeypatch.setattr(log_module, "PIECE_BYTES", PIECE_BYTES)
    path = write_lines(tmp_path / "log", drawn_lines(30_000, seed=6))
    return [open_log(path), open_log(data / "interrupts_netpipe_linux_default_64B.csv.gz")]


def test_the_result_is_that_of_one_machine(cluster: Any, logs: list[Log]) -> None:
    pieces = [len(log.pieces()) for log in logs]
    assert pieces[0] > 5
    calls: list[None] = []
    summaries = summarise_on_cluster(logs, cluster.address, lambda: calls.append(None))
    assert len(calls) == sum(pieces)
    assert [state_of(s) for s in summaries] == [state_of(summarise(log)) for log in logs]


def test_a_node_that_dies_changes_nothing(cluster: Any, logs: list[Log]) -> None:
    count = 0

    def kill_one() -> None:
        nonlocal count
        count += 1
        if count == 2:
            cluster.remove_node(cluster.workers[0], allow_graceful=False)

    summaries = summarise_on_cluster(logs, cluster.address, kill_one)
    assert count >= sum(len(log.pieces()) for log in logs)
    assert [state_of(s) for s in summaries] == [state_of(summarise(log)) for log in logs]


def test_a_damaged_log_is_refused_with_its_line(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_module, "PIECE_BYTES", PIECE_BYTES)
    lines = drawn_lines(10_000, seed=7)
    lines[8_000] = lines[8_000].replace(" ", " nan ", 1)
    path = write_lines(tmp_path / "log", lines)
    with pytest.raises(InputError) as caught:
        summarise_on_cluster([open_log(path)], cluster.address, lambda: None)
    assert f"a record of this log must have 14 fields ({path}, line 8001" in caught.value.message
