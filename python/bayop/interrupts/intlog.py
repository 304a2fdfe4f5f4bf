"""The text that intlog writes: a line per record, numbers between single spaces, no header.

intlog is the authors' instrumented ixgbe driver (https://github.com/SESA/intlog at dce07e1,
https://github.com/handong32/intlog at a8aca0a). `cat /proc/ixgbe_stats/core/N` prints, and empties, the log of core N;
`ct_show` in the driver's ixgbe_main.c has the format, and the `*_COLS` of scripts/*/clean_*.py name the fields:

    17 fields  i rx_desc rx_bytes tx_desc tx_bytes instructions cycles ref_cycles llc_miss
               c0 c1 c1e c3 c6 c7 joules timestamp            Linux (ct_show; scripts/node/linux)
    16 fields  without c0                                     Linux 5.5 (scripts/{netpipe,mcd,mcdsilo}/linux)
    14 fields  without c0 c1 c1e                              EbbRT (scripts/*/ebbrt/parse_ebbrt*.c prints its memory)

`timestamp` is the TSC of the interrupt, and `joules` the RAPL counter of the package (MSR 0x611, 32 bits). Counters are
read when a millisecond has passed since they last were; in all other records they are 0. A record whose energy was read
before the other counters ran, the first one, is not a sample; the authors' scripts leave it out as well. Linux counts
entries into an idle state since boot; EbbRT counts them since the record before, and the scripts add them up.
The driver for Linux 5.15 keeps a record a millisecond, not one an interrupt: its spacing is that of the samples.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bayop.interrupts.batch import Batch
from bayop.interrupts.layout import COUNTERS, ENERGY_UNIT_J, INTERRUPT_COLUMNS, TSC_HZ, Layout
from bayop.interrupts.text import Field, parse

if TYPE_CHECKING:
    import polars as pl

SEPARATOR: Final = " "
PREAMBLE: Final = re.compile(rb"numbytes=\d+ num_entries=\d+\r?\n")
"""What the parsers of EbbRT's memory for memcached, silo and Node.js print before the first record."""
ENERGY_BITS: Final = 32
COUNTER_BITS: Final = 48

_IDLE_STATES: Final[dict[int, tuple[str, ...]]] = {
    17: ("c0", "c1", "c1e", "c3", "c6", "c7"),
    16: ("c1", "c1e", "c3", "c6", "c7"),
    14: ("c3", "c6", "c7"),
}
FIELD_COUNTS: Final = tuple(_IDLE_STATES)
EBBRT_FIELDS: Final = 14
"""Of a line from EbbRT."""
# What the columns of `layout` are called in the scripts.
_NAMES: Final[dict[str, str]] = {
    "entry": "i",
    "time_ticks": "timestamp",
    "rx_descriptors": "rx_desc",
    "tx_descriptors": "tx_desc",
    "llc_misses": "llc_miss",
    "energy_units": "joules",
}


def layout_of(fields: int, *, tsc_hz: int | None, energy_unit_j: float | None) -> Layout:
    """What the numbers mean in a log with so many fields a line; the papers' server unless said otherwise."""
    states = _IDLE_STATES[fields]
    base = Layout(
        name="intlog of Linux",
        tick_hz=tsc_hz or TSC_HZ,
        tsc_hz=tsc_hz or TSC_HZ,
        energy_unit_j=energy_unit_j or ENERGY_UNIT_J,
        energy_bits=ENERGY_BITS,
        counter_bits=COUNTER_BITS,
        idle_states=states,
    )
    return base if "c1" in states else replace(base, name="intlog of EbbRT", idle_meaning="entries_per_record")


def name_of(column: str) -> str:
    """The field of the text that holds a column."""
    return _NAMES.get(column, column)


def fields_of(layout: Layout) -> tuple[str, ...]:
    """The columns in the order of the fields of a line."""
    _, time, *traffic = INTERRUPT_COLUMNS
    return ("entry", *traffic, *COUNTERS[:-1], *layout.idle_states, COUNTERS[-1], time)


def read_batch(block: bytes, layout: Layout, first_row: int) -> Batch:
    """The records of some whole lines.

    Raises:
        BadRecordError: a line is no record.
    """
    columns = fields_of(layout)
    table = parse(block, tuple(Field(name_of(c)) for c in columns), SEPARATOR, first_row)
    table.columns = list(columns)
    return batch_of(table, layout, first_row)


def batch_of(table: pl.DataFrame, layout: Layout, first_row: int) -> Batch:
    """The records of a table, with 0 in every counter that was not read."""
    import polars as pl

    samples = (
        table.select("time_ticks", *layout.sampled)
        .with_row_index("row")
        .filter(pl.all_horizontal(pl.col(COUNTERS) > 0))
        .with_columns(pl.col("row").cast(pl.Int64))
    )
    return Batch(layout, first_row, table.select(INTERRUPT_COLUMNS), samples)
