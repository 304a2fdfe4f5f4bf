"""Some records in a row, in the columns of `layout`, and what is wrong with one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayop.interrupts.layout import Layout

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Batch:
    """Records as they follow each other in a log.

    Attributes:
        layout: What the numbers mean.
        first_row: The row of the first one, from the start of its piece.
        interrupts: The columns that every record has, all Int64.
        samples: `row` within this batch, `time_ticks` and the sampled columns, of the records that were sampled.
    """

    layout: Layout
    first_row: int
    interrupts: pl.DataFrame
    samples: pl.DataFrame

    def frame(self) -> pl.DataFrame:
        """All columns side by side; a record that was not sampled has nulls."""
        sampled = self.samples.drop("time_ticks").with_columns(row=self.samples["row"].cast(self._row_type()))
        return self.interrupts.with_row_index("row").join(sampled, on="row", how="left", maintain_order="left").drop("row")

    def _row_type(self) -> pl.DataType:
        import polars as pl

        return pl.get_index_type()


class BadRecordError(Exception):
    """A record that can't be: where it is in its piece, and the rule that it breaks. The reader of the file says which line.

    Args:
        row: From the start of the piece; negative for what stands before its first record.
        column: Which column, None for the whole record.
        rule: What must hold.
        value: The offending value.
        hint: What to do about it.
    """

    def __init__(self, row: int, column: str | None, rule: str, *, value: object = None, hint: str | None = None) -> None:
        super().__init__(row, column, rule)
        self.row = row
        self.column = column
        self.rule = rule
        self.value = value
        self.hint = hint
