from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.text import Text

from bayop.cli.terminal.output import literal, new_table
from bayop.cli.terminal.tables import FittingTable

IDS = ("napi.gro_flush_timeout_us", "cpu.freq_mhz")


def trials() -> FittingTable:
    table = new_table("what it means", drop=["util.", "would hold"])
    for column in ("trial", *IDS, "power"):
        table.add_column(column, justify="right")
    table.add_column("util.", no_wrap=True)
    table.add_column("would hold", no_wrap=True)
    table.add_row("1", "20us", "2900MHz", "127.5 W (estimated)", "0.52", "trial 1")
    table.add_row("2", "400us", "1300MHz", "57.5 W (estimated)", "0.82", "trial 2")
    return table


def text_of(table: FittingTable, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_width_breaks_an_id_or_goes_beyond_the_screen(width: int) -> None:
    text = text_of(trials(), width)
    assert all(knob_id in text for knob_id in IDS)
    assert "2900MHz" in text
    assert max(map(len, text.splitlines())) <= width


def test_what_matters_least_is_left_out_first() -> None:
    headers = [text_of(trials(), width) for width in (110, 74, 64)]
    assert ["util." in text for text in headers] == [True, False, False]
    assert ["would hold" in text for text in headers] == [True, True, False]


def test_rows_are_stacked_at_last() -> None:
    lines = [line.rstrip() for line in text_of(trials(), 40).splitlines()]
    assert lines[:4] == ["trial 1", "  napi.gro_flush_timeout_us 20us", "  cpu.freq_mhz              2900MHz", lines[3]]
    assert lines[-1] == "what it means"


def test_a_mark_and_the_name_that_it_marks_head_a_block() -> None:
    table = new_table()
    for column in ("", "check", "found"):
        table.add_column(column)
    table.add_row("[green]ok[/green]", literal("[kernel]"), literal("a-very-long-word-without-any-space"))
    assert text_of(table, 30).splitlines()[0] == "ok [kernel]"


def test_a_table_is_whole_again_on_a_wider_screen() -> None:
    table = trials()
    narrow = text_of(table, 40)
    assert text_of(table, 120) == text_of(trials(), 120) != narrow


def test_a_row_on_one_line() -> None:
    table = new_table()
    table.add_column("trial")
    table.add_column("power")
    table.add_row("1", Text("120 W"))
    table.add_row("2", Text("90 W"))
    assert table.last_line() == "trial 2  power 90 W"
