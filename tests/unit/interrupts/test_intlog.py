from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.interrupt_logs import LINES, changed, write_lines

from bayop.interrupts.batch import BadRecordError
from bayop.interrupts.intlog import FIELD_COUNTS, fields_of, layout_of, name_of, read_batch
from bayop.interrupts.layout import ENERGY_UNIT_J, TSC_HZ
from bayop.interrupts.log import open_log
from bayop.interrupts.numbers import describe
from bayop.interrupts.query import summarise


def test_machines_may_differ(tmp_path: Path) -> None:
    log = open_log(write_lines(tmp_path / "log", LINES), tsc_hz=1_000_000_000, energy_unit_j=1e-3)
    numbers = describe(summarise(log))
    assert numbers["span_s"] == pytest.approx(0.005829)
    counters = numbers["counters"]
    assert isinstance(counters, dict)
    assert counters["energy_j"] == pytest.approx(0.3)


@pytest.mark.parametrize(("fields", "states"), [(17, 6), (16, 5), (14, 3)])
def test_the_layouts_of_intlog(tmp_path: Path, fields: int, states: int) -> None:
    lines = []
    for line in LINES:
        cells = line.split(" ")
        idle = ["0", *cells[9:14]][-states:]
        lines.append(" ".join([*cells[:9], *idle, *cells[14:]]))
    log = open_log(write_lines(tmp_path / "log", lines))
    assert len(log.layout.idle_states) == states
    summary = summarise(log)
    assert summary.totals["energy_units"] == 300
    # EbbRT counts entries since the record before, Linux since boot.
    assert summary.totals["c7"] == (5 if fields == 14 else 3)


def test_a_machine_is_that_of_the_papers_unless_it_is_told() -> None:
    papers, other = (layout_of(16, tsc_hz=hz, energy_unit_j=unit) for hz, unit in ((None, None), (2_000_000_000, 1e-3)))
    assert (papers.tick_hz, papers.tsc_hz, papers.energy_unit_j) == (TSC_HZ, TSC_HZ, ENERGY_UNIT_J)
    assert (other.tick_hz, other.tsc_hz, other.energy_unit_j) == (2_000_000_000, 2_000_000_000, 1e-3)
    assert (papers.bits("energy_units"), papers.bits("cycles"), papers.bits("c7")) == (32, 48, None)


@pytest.mark.parametrize("fields", FIELD_COUNTS)
def test_a_line_has_a_field_for_each_column(fields: int) -> None:
    layout = layout_of(fields, tsc_hz=None, energy_unit_j=None)
    columns = fields_of(layout)
    assert len(columns) == fields
    assert (columns[0], columns[-2], columns[-1]) == ("entry", "energy_units", "time_ticks")
    assert layout.idle_meaning == ("entries_per_record" if fields == 14 else "entries")


def test_columns_stand_where_the_driver_prints_them() -> None:
    layout = layout_of(16, tsc_hz=None, energy_unit_j=None)
    row = read_batch(LINES[4].encode(), layout, 0).frame().row(0, named=True)
    assert row == {
        "entry": 4, "rx_descriptors": 1, "rx_bytes": 66, "tx_descriptors": 0, "tx_bytes": 0, "instructions": 1_700_000,
        "cycles": 4_000_000, "ref_cycles": 5_900_000, "llc_misses": 90, "c1": 9, "c1e": 0, "c3": 1, "c6": 0, "c7": 5,
        "energy_units": 204, "time_ticks": 10_005_800_000,
    }  # fmt: skip
    assert [name_of(column) for column in ("entry", "time_ticks", "energy_units", "c7")] == [
        "i", "timestamp", "joules", "c7",
    ]  # fmt: skip


@pytest.mark.parametrize("column", [5, 6, 7, 8, 14])
def test_a_record_is_a_sample_when_every_counter_was_read(column: int) -> None:
    lines = changed(LINES, 4, column, "0", " ")
    batch = read_batch("\n".join(lines).encode(), layout_of(16, tsc_hz=None, energy_unit_j=None), first_row=10)
    # The first record has an energy and no counters yet.
    assert batch.samples["row"].to_list() == [1]
    assert batch.interrupts.height == 6


def test_a_bad_line_is_found_in_its_row() -> None:
    lines = changed(LINES, 2, 0, "two", " ")
    with pytest.raises(BadRecordError) as caught:
        read_batch("\n".join(lines).encode(), layout_of(16, tsc_hz=None, energy_unit_j=None), first_row=10)
    assert (caught.value.row, caught.value.column, caught.value.value) == (12, "i", "two")
