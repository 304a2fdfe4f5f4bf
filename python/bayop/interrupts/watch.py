"""What a NIC's interrupts are like from moment to moment, by queue, as its recorder tells of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bayop.interrupts.capture import Chunk, Source
from bayop.interrupts.layout import IDLE_NS

_WHOLE: Final = 0.9
"""What the last moment must have of an interval."""


@dataclass(frozen=True, slots=True)
class Spacing:
    """Times from one interrupt of a queue to the next.

    Attributes:
        p1_us: 1 % are shorter, in us; likewise the others.
        kept_share: The share that is at least as long as the delay that the device is asked for; None without one.
    """

    p1_us: float
    p50_us: float
    p99_us: float
    kept_share: float | None


@dataclass(frozen=True, slots=True)
class QueueMoment:
    """The interrupts of a queue whose records were complete in a moment: the newest one never is.

    Attributes:
        queue: Its name.
        cpus: Where they were handled.
        interrupts_per_s: How many there were.
        spacing: None while there was but one.
        rx_packets: Received for each of them, on average.
        tx_packets: Sent for each of them by its CPU.
        irq_share: The share of a CPU's time that their handlers and polls took; None where nothing tells.
        idle_share: The share of time in which their CPUs were idle; None where nothing tells.
    """

    queue: str
    cpus: tuple[int, ...]
    interrupts_per_s: float
    spacing: Spacing | None
    rx_packets: float
    tx_packets: float
    irq_share: float | None
    idle_share: float | None


@dataclass(frozen=True, slots=True)
class Moment:
    """What came in an interval.

    Attributes:
        time_s: Its end, since the recording began.
        delay_us: As in `Chunk`, at its end.
        lost: How many records found no room in it.
        queues: Those that interrupted, by name.
    """

    time_s: float
    delay_us: float | None
    lost: int
    queues: tuple[QueueMoment, ...]


def moments(said: Iterable[Chunk | Mapping[str, Any]], source: Source, interval_s: float) -> Iterator[Moment]:
    """The moments of a recording, each when it is over.

    Args:
        said: What the recorder prints, after its first line.
        source: Its first line.
        interval_s: How long a moment is at least.
    """
    before = _Before({}, {})
    chunks: list[Chunk] = []
    began_s, lost = 0.0, 0
    for chunk in said:
        if isinstance(chunk, Chunk):
            chunks.append(chunk)
        enough_s = interval_s if isinstance(chunk, Chunk) else _WHOLE * interval_s
        if chunks and chunks[-1].time_s - began_s >= enough_s:
            last = chunks[-1]
            records = np.concatenate([each.records for each in chunks])
            queues = _queues(records, source, before, last.time_s - began_s, last.delay_us)
            yield Moment(last.time_s, last.delay_us, last.lost - lost, queues)
            chunks, began_s, lost = [], last.time_s, last.lost


@dataclass(frozen=True, slots=True)
class _Before:
    """When the last record of each queue and of each CPU was, in ns."""

    by_queue: dict[int, int]
    by_cpu: dict[int, int]


def _queues(
    records: NDArray[np.void], source: Source, before: _Before, duration_s: float, delay_us: float | None
) -> tuple[QueueMoment, ...]:
    ordered = records[np.argsort(records["time_ns"], kind="stable")]
    since_ns = _since(ordered, "cpu", before.by_cpu)
    spacing_ns = _since(ordered, source.key, before.by_queue)
    found = []
    for key in np.unique(ordered[source.key]).tolist():
        own = ordered[source.key] == key
        spacing = _spacing(spacing_ns[own], delay_us)
        found.append(_queue(source.name_of(key), ordered[own], since_ns[own], spacing, duration_s))
    return tuple(sorted(found, key=lambda moment: moment.queue))


def _since(records: NDArray[np.void], key: str, before: dict[int, int]) -> NDArray[np.int64]:
    """How long each record came after the one before with the same key, in ns; 0 where none is known."""
    times = records["time_ns"].astype(np.int64)
    since = np.zeros(len(records), np.int64)
    for value in np.unique(records[key]).tolist():
        own = np.flatnonzero(records[key] == value)
        known = before.get(value, times[own[0]])
        since[own] = np.diff(times[own], prepend=known)
        before[value] = max(int(times[own[-1]]), int(known))
    # A record that was complete late, of a queue that rarely interrupts, may lie before what is known of its CPU.
    return np.maximum(since, 0)


def _queue(
    name: str,
    records: NDArray[np.void],
    since_ns: NDArray[np.int64],
    spacing: Spacing | None,
    duration_s: float,
) -> QueueMoment:
    names = records.dtype.names or ()
    idle = [field for field in names if field.startswith(IDLE_NS)]
    irq = [field for field in ("hard_irq_ns", "soft_irq_ns") if field in names]
    known = since_ns > 0
    idle_ns = sum(int(records[field][known].sum()) for field in idle)
    irq_ns = sum(int(records[field].sum()) for field in irq)
    return QueueMoment(
        queue=name,
        cpus=tuple(np.unique(records["cpu"]).tolist()),
        interrupts_per_s=len(records) / duration_s,
        spacing=spacing,
        rx_packets=float(records["rx_packets"].mean()),
        tx_packets=float(records["tx_packets"].mean()),
        irq_share=irq_ns / 1e9 / duration_s if irq else None,
        idle_share=min(idle_ns / int(since_ns.sum()), 1.0) if idle and known.any() else None,
    )


def _spacing(spacings_ns: NDArray[np.int64], delay_us: float | None) -> Spacing | None:
    spacings_us = spacings_ns[spacings_ns > 0] / 1000
    if not len(spacings_us):
        return None
    p1_us, p50_us, p99_us = np.quantile(spacings_us, (0.01, 0.5, 0.99), method="inverted_cdf").tolist()
    return Spacing(p1_us, p50_us, p99_us, None if delay_us is None else float((spacings_us >= delay_us).mean()))
