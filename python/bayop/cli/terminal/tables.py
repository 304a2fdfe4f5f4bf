"""Tables that fit the terminal: what matters least is left out, at last rows are stacked, and no word is broken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

_UNBOUNDED: Final = 10_000
"""A width that every table fits."""


class FittingTable(Table):
    """A table in the look of all tables.

    Args:
        caption: What stands below it.
        drop: Headers of columns that are left out where there is no room, the first one first.
    """

    def __init__(self, caption: str | None = None, drop: Sequence[str] = ()) -> None:
        super().__init__(box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True, caption=caption)
        self._drop = tuple(drop)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table as far as it fits; else a block for every row."""
        every = self.columns
        candidates = list(self._drop)
        try:
            while (widths := self._widths(console, options)) is None and candidates:
                self.columns = [column for column in self.columns if column.header != candidates[0]]
                del candidates[0]
            if widths is not None:
                for column, width in zip(self.columns, widths, strict=True):
                    column.width = width
                yield from super().__rich_console__(console, options)
                return
        finally:
            self.columns = every
            for column in every:
                column.width = None
        yield from self._stacked()

    def last_line(self) -> str:
        """The last row on one line, for a pipe or a journal: `trial 1  nic.rx_usecs 2us  power 127.5 W`."""
        last = [(str(column.header), list(column.cells)[-1]) for column in self.columns]
        return "  ".join(f"{header} {cell}".strip() for header, cell in last)

    def _widths(self, console: Console, options: ConsoleOptions) -> list[int] | None:
        """The columns' widths, at which no word is broken and no cell that is meant to stay on its line; None: no room.

        rich itself shrinks the widest columns first, below their longest word.
        """
        wide = options.update(width=_UNBOUNDED)
        measured = [self._measured(console, wide, column) for column in self.columns]
        ideal = [m.maximum for m in measured]
        frame = self.__rich_measure__(console, wide).maximum - sum(ideal)
        widths = [m.maximum if c.no_wrap else m.minimum for c, m in zip(self.columns, measured, strict=True)]
        spare = options.max_width - frame - sum(widths)
        if spare < 0:
            return None
        # Who lacks least is given all of it first.
        lacking = sorted(range(len(widths)), key=lambda i: ideal[i] - widths[i])
        for rank, i in enumerate(lacking):
            more = min(ideal[i] - widths[i], spare // (len(lacking) - rank))
            widths[i] += more
            spare -= more
        return widths

    def _measured(self, console: Console, options: ConsoleOptions, column: Column) -> Measurement:
        cells = [Measurement.get(console, options, cell) for cell in (column.header, *column.cells)]
        return Measurement(max(m.minimum for m in cells), max(m.maximum for m in cells))

    def _stacked(self) -> RenderResult:
        headers = [str(column.header) for column in self.columns]
        # A first column without a name marks the rows that the second one names.
        heads = 1 if headers[0] else 2
        name = [Text(headers[0], style="dim")] if headers[0] else []
        for cells in zip(*(column.cells for column in self.columns), strict=True):
            yield Text(" ").join([*name, *(_text(cell) for cell in cells[:heads])])
            block = Table.grid(padding=(0, 1, 0, 0))
            block.add_column(style="dim", no_wrap=True)
            block.add_column(overflow="fold")
            for header, cell in zip(headers[heads:], cells[heads:], strict=True):
                if str(cell):
                    block.add_row(header, cell)
            yield Padding(block, (0, 0, 0, 2))
        if self.caption:
            yield Text(str(self.caption), style="table.caption")


def _text(cell: object) -> Text:
    return cell if isinstance(cell, Text) else Text.from_markup(str(cell), style="bold")
