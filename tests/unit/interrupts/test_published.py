from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.errors import says
from tests.support.interrupt_logs import PUBLISHED_HEADER, PUBLISHED_ROWS, changed, write_lines
from tests.unit.interrupts.conftest import refusal

from bayop.errors import InputError
from bayop.interrupts.batch import BadRecordError
from bayop.interrupts.layout import TSC_HZ
from bayop.interrupts.log import open_log
from bayop.interrupts.published import name_of, read_batch, read_header
from bayop.interrupts.query import summarise


def test_a_published_log(tmp_path: Path) -> None:
    summary = summarise(open_log(write_lines(tmp_path / "log.csv", [PUBLISHED_HEADER, *PUBLISHED_ROWS])))
    assert (summary.records, summary.samples) == (3, 2)
    assert summary.ends.times == (5_349, 1_130_600)
    assert summary.totals["energy_units"] == 2


@pytest.mark.parametrize(
    ("row", "cell", "value", "message"),
    [
        (1, 1, "NaN", "line 3, column time_us: cannot use 'NaN': time_us must be a number, not negative"),
        (1, 1, "1e300", "line 3, column time_us: time_us must be a number"),
        (1, 1, "4", "line 3, column time_us: a record must follow the one before it"),
        (1, 7, "12", "line 3, column cycles_cum: a record must have all sampled counters or none"),
        (2, 8, "900000000000", "line 4, column cycles_cum: cycles must not run backwards, nor faster"),
    ],
)
def test_a_wrong_cell_of_a_published_log_is_named(
    tmp_path: Path, row: int, cell: int, value: str, message: str
) -> None:
    path = write_lines(tmp_path / "log.csv", [PUBLISHED_HEADER, *changed(PUBLISHED_ROWS, row, cell, value, ",")])
    assert says(refusal(path), f"{path}, {message}")


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (PUBLISHED_HEADER.replace("rx_bytes", "rx_byts"), "there is no column rx_bytes"),
        (
            PUBLISHED_HEADER.replace("since_prev_us", "surprise"),
            "cannot use 'surprise': a log must have each column that is known once",
        ),
        (
            PUBLISHED_HEADER.replace("since_prev_us", "entry"),
            "cannot use 'entry': a log must have each column that is known once",
        ),
    ],
)
def test_the_header_of_a_published_log_is_checked(tmp_path: Path, header: str, message: str) -> None:
    path = write_lines(tmp_path / "log.csv", [header, *PUBLISHED_ROWS])
    error = refusal(path)
    assert error.place == f"{path}, line 1"
    assert message in error.message


def test_times_are_whole_nanoseconds_and_energies_whole_tens_of_microjoules() -> None:
    layout, names = read_header(PUBLISHED_HEADER.encode(), "log.csv, line 1")
    assert (layout.tick_hz, layout.tsc_hz, layout.energy_unit_j) == (1_000_000_000, TSC_HZ, 1e-5)
    batch = read_batch("\n".join(PUBLISHED_ROWS).encode(), layout, names, first_row=40)
    assert batch.first_row == 40
    assert batch.interrupts["time_ticks"].to_list() == [5_349, 121_225, 1_130_600]
    assert batch.samples.select("row", "time_ticks", "cycles", "energy_units").rows() == [
        (0, 5_349, 0, 0),
        (2, 1_130_600, 900_000, 2),
    ]


def test_the_order_of_the_columns_is_the_headers() -> None:
    order = list(reversed(PUBLISHED_HEADER.split(",")))
    row = ",".join(reversed(PUBLISHED_ROWS[2].split(",")))
    layout, names = read_header(",".join(order).encode(), "log.csv, line 1")
    batch = read_batch(row.encode(), layout, names, 0)
    assert batch.interrupts.rows() == [(7, 1_130_600, 0, 0, 0, 0)]
    assert batch.samples["llc_misses"].to_list() == [7]


def test_idle_states_are_residencies_and_those_of_the_header() -> None:
    header = f"{PUBLISHED_HEADER},c6_residency_tsc_ticks_cum,c3_residency_tsc_ticks_cum"
    layout, names = read_header(header.encode(), "log.csv, line 1")
    assert (layout.idle_states, layout.idle_meaning) == (("c3", "c6"), "residency")
    batch = read_batch(f"{PUBLISHED_ROWS[2]},60,30".encode(), layout, names, 0)
    assert batch.samples.select("c3", "c6").rows() == [(30, 60)]


def test_a_mark_of_the_byte_order_and_a_windows_line_end_are_no_part_of_a_name() -> None:
    _, names = read_header(f"\ufeff{PUBLISHED_HEADER}\r\n".encode(), "log.csv, line 1")
    assert names == tuple(PUBLISHED_HEADER.split(","))


def test_a_missing_column_is_named_with_those_that_there_are() -> None:
    with pytest.raises(
        InputError,
        match="a published log must have the columns entry, time_us, rx_descriptors",
    ) as caught:
        read_header(b"entry,time_us", "log.csv, line 1")
    assert caught.value.message.startswith("there is no column rx_descriptors, rx_bytes, tx_descriptors")
    assert (caught.value.place, caught.value.hint) == ("log.csv, line 1", "the file has entry, time_us")


def test_a_torn_sample_is_found_in_its_row() -> None:
    layout, names = read_header(PUBLISHED_HEADER.encode(), "log.csv, line 1")
    torn = changed(PUBLISHED_ROWS, 1, 11, "0.5", ",")
    with pytest.raises(BadRecordError) as caught:
        read_batch("\n".join(torn).encode(), layout, names, first_row=7)
    error = caught.value
    assert (error.row, error.column, error.value) == (8, "instructions_cum", "an empty cell")


def test_columns_have_the_names_of_the_file() -> None:
    names = [name_of(column) for column in ("entry", "time_ticks", "cycles", "energy_units", "c7")]
    assert names == ["entry", "time_us", "cycles_cum", "energy_pkg1_j_cum", "c7_residency_tsc_ticks_cum"]
