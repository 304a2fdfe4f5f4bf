"""What a log shows, summarised so that the summaries of its parts add up to the summary of the whole.

A part may be a batch of records, a range of a file, or a file on another machine of a cluster. Everything in a summary
is a whole number, so the result does not depend on how the log was cut, to the last bit. What happens between two
parts (the spacing of two interrupts, how far a counter advanced) is found when they are merged, from the records at
their ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bayop.interrupts.batch import BadRecordError, Batch
from bayop.interrupts.counters import advance
from bayop.interrupts.episodes import Episodes
from bayop.interrupts.histogram import LARGEST, Histogram, Whole, bucket_of
from bayop.interrupts.layout import COUNTERS, INTERRUPT_COLUMNS
from bayop.interrupts.time_bins import TimeBins

if TYPE_CHECKING:
    import polars as pl

TRAFFIC: Final = INTERRUPT_COLUMNS[2:]
_MOST_TRAFFIC: Final = 2**32 - 1
"""The driver keeps them in 32 bits."""
_MOST_AMOUNT: Final = 2**53 - 1
"""As ns three months."""


@dataclass(frozen=True, slots=True)
class Ends:
    """The first and the last record of a part.

    Attributes:
        entries: Their entry numbers.
        times: Their ticks.
        row: Row of the first one, from the start of its piece.
    """

    entries: tuple[int, int]
    times: tuple[int, int]
    row: int


@dataclass(frozen=True, slots=True)
class Samples:
    """The first and the last sample of a part: row in its piece, ticks, and the running counters of the layout."""

    rows: Whole
    ticks: Whole
    counters: dict[str, Whole]


class Summary:
    """A part of a log, or a whole one.

    Attributes:
        layout: What the numbers mean.
        records: How many interrupts there were.
        empty: How many of them brought nothing: no descriptor received, none sent.
        ends: The first and the last of them.
        spacing: Ticks between two interrupts.
        traffic: Bytes and descriptors per interrupt, by column.
        amounts: The sum of each further amount of the layout.
        samples: How many records were sampled.
        intervals: How many pairs of neighbouring samples there were.
        sampled_ticks: Time between the first and the last sample.
        totals: How far each sampled column advanced in that time.
        sample_ends: The first and the last of the samples; None without any.
        episodes: Busy and idle ones.
        bins: Sums over time.
    """

    def __init__(self, batch: Batch) -> None:
        """Summarises some records.

        Raises:
            BadRecordError: one of them breaks a rule.
        """
        self.layout = batch.layout
        columns = {name: batch.interrupts[name].to_numpy() for name in INTERRUPT_COLUMNS}
        entries, times = columns["entry"], columns["time_ticks"]
        _check_ascent(entries, times, batch.first_row)
        self.records = len(entries)
        first, last = int(times[0]), int(times[-1])
        self.ends = Ends((int(entries[0]), int(entries[-1])), (first, last), batch.first_row)
        self.bins = TimeBins(first, last)
        self.bins.add(times, {"interrupts": np.ones(self.records, dtype=np.int64)})
        self.bins.add(times, {name: columns[name] for name in ("rx_bytes", "tx_bytes")})
        self.traffic = {name: Histogram() for name in TRAFFIC}
        for name, histogram in self.traffic.items():
            _check_amount(name, columns[name], _MOST_TRAFFIC, batch.first_row)
            histogram.add(columns[name])
        self.amounts = dict.fromkeys(self.layout.amounts, 0)
        for name in self.amounts:
            values = batch.interrupts[name].to_numpy()
            _check_amount(name, values, _MOST_AMOUNT, batch.first_row)
            self.amounts[name] = int(values.sum())
        self.empty = int(np.count_nonzero((columns["rx_descriptors"] | columns["tx_descriptors"]) == 0))
        self.spacing = Histogram()
        self._add_gaps(times)
        self.samples = batch.samples.height
        self.intervals = 0
        self.sampled_ticks = 0
        self.totals = dict.fromkeys(self.layout.sampled, 0)
        self.episodes = Episodes()
        self.sample_ends: Samples | None = None
        if self.samples:
            self._add_samples(batch.samples, batch.first_row)

    def merge(self, other: Summary) -> None:
        """Appends the part of the same log that follows this one.

        Raises:
            BadRecordError: the first record of the other part breaks a rule; its row is that in the other's piece.
        """
        ends, next_ends = self.ends, other.ends
        _check_ascent(
            np.array([ends.entries[1], next_ends.entries[0]]), np.array([ends.times[1], next_ends.times[0]]),
            next_ends.row - 1,
        )  # fmt: skip
        self.bins.merge(other.bins)
        self._add_gaps(np.array([ends.times[1], next_ends.times[0]]))
        self.spacing.merge(other.spacing)
        for name, histogram in self.traffic.items():
            histogram.merge(other.traffic[name])
        for name, amount in other.amounts.items():
            self.amounts[name] += amount
        self.records += other.records
        self.empty += other.empty
        self.ends = Ends((ends.entries[0], next_ends.entries[1]), (ends.times[0], next_ends.times[1]), ends.row)
        self._merge_samples(other)

    def _add_gaps(self, times: Whole) -> None:
        gaps = np.diff(times)
        buckets = bucket_of(gaps)
        self.spacing.add(gaps, buckets)
        if len(gaps):
            self.bins.add(times[1:], {"gap_ticks": gaps})
            self.bins.add_spacing(times[1:], buckets)

    def _add_samples(self, samples: pl.DataFrame, first_row: int) -> None:
        counters = {name: samples[name].to_numpy() for name in self.layout.sampled}
        rows = samples["row"].to_numpy() + first_row
        ticks = samples["time_ticks"].to_numpy()
        self._add_intervals(Samples(rows, ticks, counters))
        edge = np.array([0, -1])
        self.sample_ends = Samples(rows[edge], ticks[edge], {name: values[edge] for name, values in counters.items()})

    def _merge_samples(self, other: Summary) -> None:
        before, after = self.sample_ends, other.sample_ends
        if before is not None and after is not None:
            bridge = {name: np.array([values[1], after.counters[name][0]]) for name, values in before.counters.items()}
            self._add_intervals(
                Samples(np.array([-1, after.rows[0]]), np.array([before.ticks[1], after.ticks[0]]), bridge)
            )
            counters = {
                name: np.array([values[0], after.counters[name][1]]) for name, values in before.counters.items()
            }
            self.sample_ends = Samples(
                np.array([before.rows[0], after.rows[1]]), np.array([before.ticks[0], after.ticks[1]]), counters
            )
        else:
            self.sample_ends = before or after
        self.episodes.merge(other.episodes)
        self.samples += other.samples
        self.intervals += other.intervals
        self.sampled_ticks += other.sampled_ticks
        for name, total in other.totals.items():
            self.totals[name] += total

    def _add_intervals(self, samples: Samples) -> None:
        """Adds what happened between each two neighbours of some samples."""
        ticks = np.diff(samples.ticks)
        if not len(ticks):
            return
        steps = {
            name: advance(self.layout, name, values, ticks, samples.rows) for name, values in samples.counters.items()
        }
        self.intervals += len(ticks)
        self.sampled_ticks += int(ticks.sum())
        for name, step in steps.items():
            self.totals[name] += int(step.sum())
        self.bins.add(samples.ticks[1:], {"sampled_ticks": ticks, **{name: steps[name] for name in COUNTERS}})
        self.episodes.merge(Episodes.of(self.layout, ticks, steps["ref_cycles"]))


def _check_ascent(entries: Whole, times: Whole, first_row: int) -> None:
    for column, values, least in (("entry", entries, 1), ("time_ticks", times, 0)):
        steps = np.diff(values)
        bad = np.flatnonzero(steps < least)
        if len(bad):
            at = int(bad[0]) + 1
            raise BadRecordError(
                first_row + at, column, "a record must follow the one before it", value=int(values[at]),
                hint=f"the one before has {int(values[at - 1])}; a log holds the records of one core in their order",
            )  # fmt: skip
        if column == "time_ticks" and len(steps) and int(steps.max()) > LARGEST:
            raise BadRecordError(
                first_row + int(steps.argmax()) + 1, column, "two interrupts must be less than a month apart",
                value=int(values[steps.argmax() + 1]),
            )  # fmt: skip


def _check_amount(column: str, values: Whole, most: int, first_row: int) -> None:
    bad = np.flatnonzero((values < 0) | (values > most))
    if len(bad):
        at = int(bad[0])
        raise BadRecordError(first_row + at, column, f"{column} must lie between 0 and {most}", value=int(values[at]))
