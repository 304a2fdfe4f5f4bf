from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import pytest
from bench.libos import page
from bench.libos.apps import MEMCACHED
from bench.libos.costs import cells, costs, layer_cells
from bench.libos.count import Window, must_run
from bench.libos.figures import drawings
from bench.markdown import replace_table

from bayop.cli import load
from bayop.errors import BayopError


def test_the_tables_of_the_page_follow_from_the_windows() -> None:
    windows = page.read_windows(max(Path("bench/libos/results").glob("*/windows.jsonl")))
    shown = page.PAGE.read_text(encoding="utf-8")
    for name, rows in page.tables(windows).items():
        assert replace_table(shown, name, rows) == shown


def test_a_load_that_has_ended_is_an_error() -> None:
    with subprocess.Popen([sys.executable, "-c", "print('no server')"], stdout=subprocess.PIPE) as load:
        load.wait()
        with pytest.raises(BayopError, match="ended early: no server"):
            must_run(load)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as load:
        must_run(load)
        load.kill()


def test_a_row_is_one_service_on_one_system_at_one_number_of_connections() -> None:
    counted = [("libos", 1000.0, 1.0), ("linux", 9000.0, 2.0), ("libos", 3000.0, 1.5), ("libos", 2000.0, 9.0)]
    windows = [Window("tpcc", system, 1, 1000.0, 3000, each, returns, 0.5) for system, each, returns in counted]
    windows.append(Window("memcached", "linux", 1024, 1000.0, 3000, 5000.0, 3.0, 0.5))
    assert [(cost.app, cost.system, cost.instructions_per_request) for cost in costs(windows)] == [
        ("tpcc", "libos", 2000.0),
        ("tpcc", "linux", 9000.0),
        ("memcached", "linux", 5000.0),
    ]
    assert cells(windows)[1:] == [
        ("tpcc", "libos", "1", "1000", "2,000", "1,000 to 3,000", "1.50", "0.50"),
        ("tpcc", "linux", "1", "1000", "9,000", "9,000 to 9,000", "2.00", "0.50"),
        ("memcached", "linux", "1,024", "1000", "5,000", "5,000 to 5,000", "3.00", "0.50"),
    ]


def test_layers_are_a_table_where_they_are_told_apart() -> None:
    by_layer = [{"tcp": 1000.0, "rest": 1.0}, {"tcp": 3000.0, "rest": 3.0}, {"tcp": 2000.0, "rest": 2.0}]
    windows = [Window("tpcc", "libos", 1, 1000.0, 3000, sum(each.values()), 1.0, 0.5, each) for each in by_layer]
    windows.append(Window("tpcc", "linux", 1, 1000.0, 3000, 9000.0, 1.0, 0.5))
    assert layer_cells(windows) == [
        ("app", "system", "connections", "requests/s", "tcp", "rest"),
        ("tpcc", "libos", "1", "1000", "2,000", "2"),
    ]


def test_linux_is_seen_under_the_tuned_one_where_they_agree() -> None:
    windows = page.read_windows(max(Path("bench/libos/results").glob("*/windows.jsonl")))
    for axes in drawings(costs(windows))[0].figure.axes:
        drawn = {bars.get_label(): bars.lines[0] for bars in axes.containers}  # type: ignore[attr-defined]
        if "Linux" not in drawn:
            continue
        linux, tuned = drawn["Linux"], drawn["Linux, tuned"]
        assert linux.get_linewidth() > 1.5 * tuned.get_linewidth()
        assert linux.get_markersize() > 1.5 * tuned.get_markersize()


def test_a_quarter_of_what_memcached_is_asked_stores() -> None:
    parser = argparse.ArgumentParser()
    load.add_arguments(parser)
    asked = parser.parse_args([*MEMCACHED.load.split(), "-s", "10.208.0.2:11211"])
    assert (asked.workload, asked.update) == ("etc", 0.25)
