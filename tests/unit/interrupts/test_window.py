from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.errors import says
from tests.support.interrupt_logs import LINES, changed, drawn_lines, state_of, write_lines

from bayop.errors import InputError
from bayop.interrupts import log as log_module
from bayop.interrupts.log import open_log
from bayop.interrupts.query import summarise
from bayop.interrupts.window import TickWindow


def test_both_ends_are_inside(tmp_path: Path) -> None:
    log = open_log(write_lines(tmp_path / "log", LINES))
    window = TickWindow(10_002_900_000, 10_005_800_000)
    inside = summarise(log, window=window)
    assert inside.ends.entries == (1, 4)
    assert inside.records == 4
    assert inside.samples == 2
    assert inside.totals["energy_units"] == 300
    assert window.ticks == 2_900_000
    narrower = summarise(log, window=TickWindow(window.first + 1, window.last - 1))
    assert narrower.ends.entries == (2, 3)
    assert narrower.samples == 0


@pytest.mark.parametrize("block_bytes", [200, 2000, 2**20])
def test_it_says_what_a_log_of_these_records_alone_says(
    tmp_path: Path, block_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = drawn_lines(400, seed=7)
    times = [int(line.rpartition(" ")[2]) for line in lines]
    monkeypatch.setattr(log_module, "BLOCK_BYTES", block_bytes)
    whole = open_log(write_lines(tmp_path / "whole", lines))
    part = open_log(write_lines(tmp_path / "part", lines[50:300]))
    inside = summarise(whole, window=TickWindow(times[49] + 1, times[299]))
    assert state_of(inside) == state_of(summarise(part))


@pytest.mark.parametrize(
    ("row", "cell", "value", "message"),
    [
        (3, 0, "2", "line 4, column i: a record must"),
        (4, 5, "999999", "line 5, column instructions: instructions must not"),
    ],
)
def test_what_breaks_a_rule_is_named_with_its_line(
    tmp_path: Path, row: int, cell: int, value: str, message: str
) -> None:
    path = write_lines(tmp_path / "log", changed(LINES, row, cell, value, " "))
    with pytest.raises(InputError) as caught:
        summarise(open_log(path), window=TickWindow(10_002_900_000, 10_005_800_000))
    assert says(caught.value, message)


def test_what_breaks_a_rule_outside_counts_for_nothing(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log", changed(LINES, 3, 0, "2", " "))
    assert summarise(open_log(path), window=TickWindow(10_002_958_000, 10_005_800_000)).records == 2


def test_a_window_without_records(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log", LINES)
    with pytest.raises(InputError) as caught:
        summarise(open_log(path), window=TickWindow(1, 2))
    assert caught.value.message == (
        f"cannot use 'none from tick 1 to 2': a log must have records in the window of its run ({path})"
    )
