"""Some records in a row, in the columns of `layout`, and what is wrong with one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bayop.interrupts.layout import Layout

if TYPE_CHECKING:
    import polars as pl

ALL_OR_NONE: Final = "a record must have all sampled counters or none"


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
        rows = self.interrupts.with_row_index("row").cast({"row": self.samples.schema["row"]})
        return rows.join(self.samples.drop("time_ticks"), on="row", how="left", maintain_order="left").drop("row")


class BadRecordError(Exception):
    """A record that can't be: where it is in its piece, and the rule that it breaks; the file's reader adds the line.

    Args:
        row: From the start of the piece.
        column: Which column, None for the whole record.
        rule: What must hold.
        value: The offending value.
        hint: What to do about it.
    """

    def __init__(
        self, row: int, column: str | None, rule: str, *, value: object = None, hint: str | None = None
    ) -> None:
        super().__init__(row, column, rule)
        self.row = row
        self.column = column
        self.rule = rule
        self.value = value
        self.hint = hint
