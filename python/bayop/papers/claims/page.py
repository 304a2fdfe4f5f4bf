"""The page of claims: one table in Markdown, made from recorded findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from bayop.papers.claims.claim import PAPERS, Numbers, Verdict
from bayop.papers.claims.record import Row

_UNITS = {"_share": ("{:.1f} %", 100.0), "_x": ("{:.2f} x", 1.0), "_w": ("{:.1f} W", 1.0), "_us": ("{:.0f} us", 1.0)}

_HEAD = """\
# Every claim, recomputed

<!-- test: slow; needs published; with --only yawn-p99 -->
```console
$ bayop claims --data ../shared/data
```

One row for each number that the four papers print and that their raw data or the twin can speak to. *Data* is what the
published measurements give, *twin* what the calibrated model of the same server gives, *library OS* what
[BayOp's own](libos.md) gives in the place of EbbRT. This page is made by `bayop claims --page`; the test suite makes it
again and fails when a verdict has changed or a number has moved.

A saving is *reproduced* when the true reduction, 1 - E / E_default, is the printed one within a tenth of it, or
greater; it holds *as a ratio only* when E_default / E - 1 is what agrees. Other numbers are reproduced within a tenth.
*Partly*: the direction is right and at least half of the size. What stands under *claim* is in our words; where a
printed number can be read in two ways, each reading has a row. The papers' 24-hour and generality experiments have no
published raw data: there the twin alone speaks.

The *verdict* goes by the data where there are any, and only else by the twin: it says whether the printed number
follows from the paper's own measurements. Where the twin would give another verdict than the data, the row says which.

The library OS has a verdict of its own, in its column. There the instructions of a request on Linux are divided by
those on the library OS, both counted by QEMU in the same emulated machine (one processor, virtio-net), at each load and
number of connections where both were: memcached, three reads to an update in the sizes of Facebook's ETC, and for silo
BayOp's own [transactions of TPC-C](tpcc.md); `bayop claims --libos FILE` takes another count. *Tuned* is Linux without
mitigations and memcached's LRU threads. The factor is *reproduced* when the least one over tuned Linux is as printed or
greater, since ours is another system than EbbRT. Loads and machine are not the papers'. An empty cell means not
measured: the 30 % of a long delay are Linux's, whose packets QEMU's NIC
[does not hold back](libos.md#delay-and-polling). NetPIPE is counted [apart](libos.md#back-and-forth), by the size of
its messages: the factor is 4.8 or more at any, and 7 at 64 KB, for which it is printed.
"""


def render_page(rows: Sequence[Row]) -> str:
    """The whole page.

    Args:
        rows: The findings, in order.
    """
    counts = Counter(row.verdict for row in rows)
    total = ", ".join(f"{counts[v]} {v.value}" for v in Verdict if counts[v])
    parts = [_HEAD, f"Verdicts: {total}.\n"]
    for key, title in PAPERS.items():
        some = [row for row in rows if row.paper == key]
        if some:
            parts += [f"## [{key}] {title}\n", _table(some)]
    return "\n".join(parts)


def _table(rows: Sequence[Row]) -> str:
    lines = ["| claim | printed | data | twin | library OS | verdict |", "|---|---|---|---|---|---|"]
    lines += [
        f"| {row.statement} ({row.place}) | {row.printed} | {say_numbers(row.data)} | {say_numbers(row.twin)} | "
        f"{say_library_os(row)} | **{row.verdict.value}**. {row.note} |"
        for row in rows
    ]
    behind = ["", "Behind each row:", ""]
    behind += [f"- `{row.id}`: {_say_source(row)}" for row in rows]
    return "\n".join([*lines, *behind, ""])


def _say_source(row: Row) -> str:
    figure = "" if row.figure is None else f", figure `{row.figure}`"
    library_os = "" if row.library_os is None else f"; library OS: `{row.library_os.source}`"
    return f"`{row.command}`{figure}{library_os}"


def say_numbers(numbers: Numbers) -> str:
    """Numbers as people read them: `reduction 43.3 %, as ratio 76.3 %`."""
    return ", ".join(_say(name, value) for name, value in numbers.items())


def say_library_os(row: Row) -> str:
    """What the library OS gives and its verdict; nothing where it was not measured."""
    found = row.library_os
    return "" if found is None else f"{say_numbers(found.numbers)}: {found.verdict.value}"


def _say(name: str, value: float) -> str:
    for suffix, (form, factor) in _UNITS.items():
        if name.endswith(suffix):
            return f"{name.removesuffix(suffix).replace('_', ' ')} {form.format(value * factor)}"
    return f"{name.replace('_', ' ')} {value:.4g}"
