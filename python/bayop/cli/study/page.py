"""The reference page of a study's columns, made from the schema; a test fails when the committed page is stale."""

from __future__ import annotations

from dataclasses import replace

from bayop.catalogue import knob_ids
from bayop.study.parquet import SEAL_KEY, VERSION_KEY
from bayop.study.schema import ASKED, COLUMNS, EFFECTIVE, RELATIVE_SD, VERSION, Column, column_of

_HEAD = f"""\
# Columns of a study

Version {VERSION} of the schema that studies follow, on disk and in memory ([how they are used](../study.md)). This page
is generated; change [`python/bayop/study/schema.py`](../../python/bayop/study/schema.py), then:

```console
$ bayop study columns --markdown > docs/reference/study-columns.md
```

- One row is one trial. A column that is absent was never sensed; an empty cell was not measured in this row.
- A name ends in its unit. A value outside its column's range is refused: it is in another unit.
- `text` is one line of UTF-8, never empty; `integer` has 64 bits; `number` is a finite 64-bit float; `time` is in UTC,
  to the microsecond, in CSV as `2026-11-20T09:30:00.000000Z`.
- Parquet files carry the version as metadata, key `{VERSION_KEY}`, and the CRC-32 of all their other bytes, key
  `{SEAL_KEY}`; a file that does not match it is refused. CSV files are UTF-8 with a header and commas.
- Columns of any other name are refused.

"""

_PATTERNS = """\
## Patterns

| column | what it says |
|---|---|
| `pNN_us` | latency quantile: `p50_us`, `p99_us`, `p999_us` is 99.9 %, `p100_us` the slowest request |
| `residency_STATE` | share of all cores' time in an idle state, such as `residency_c6` |
| `asked.KNOB` | what was asked of a knob; empty where it was left to the operating system (`auto`) |
| `effective.KNOB` | what was in effect, as read back |
| `relative_sd.QUANTITY` | relative standard deviation of this very number, of any quantity that is measured |

The trial whose `asked` cells are all empty is the default. Where a knob has several places, its column names one:
`effective.nic.rx_usecs@eth0`. The knobs, each described in [its own page](knobs.md):

"""

_PATTERN_EXAMPLES = (
    "p99_us",
    "residency_c6",
    f"{ASKED}nic.rx_usecs",
    f"{EFFECTIVE}nic.rx_usecs",
    f"{RELATIVE_SD}p99_us",
)


def entries() -> list[Column]:
    """Every column of a fixed name, then one of each pattern."""
    return [*COLUMNS, *(column_of(name) for name in _PATTERN_EXAMPLES)]


def page() -> str:
    """The page as Markdown."""
    table = ["## Fixed names", "", "| column | kind | unit | range | what it says |", "|---|---|---|---|---|"]
    table += [_row(column) for column in COLUMNS]
    knobs = ["| knob | kind | unit | range |", "|---|---|---|---|"]
    for knob_id in knob_ids():
        column = replace(column_of(ASKED + knob_id), name=knob_id)
        knobs.append(f"| `{knob_id}` | {column.kind} | {column.unit} | {_range(column)} |")
    return _HEAD + "\n".join(table) + "\n\n" + _PATTERNS + "\n".join(knobs) + "\n"


def _row(column: Column) -> str:
    meaning = column.meaning + (" (in every row)" if column.required else "")
    return f"| `{column.name}` | {column.kind} | {column.unit} | {_range(column)} | {meaning} |"


def _range(column: Column) -> str:
    return f"{column.low:g} to {column.high:g}" if column.kind in ("integer", "number") else ""
