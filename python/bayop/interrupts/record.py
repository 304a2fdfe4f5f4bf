"""Logs of a running machine's interrupts, one for each queue of a NIC, as `bayop-interrupts-record` prints them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import IO, Any

from bayop.interrupts.capture import Chunk, read_chunks, read_source
from bayop.interrupts.rotation import Rotation


@dataclass(frozen=True, slots=True)
class Capture:
    """What was recorded.

    Attributes:
        paths: The logs, of the queues that interrupted, that there are.
        removed: How many logs have made room for newer ones.
        by_poll: Whether a record is a poll, because the device has no interrupts of its own.
        records: How many there are in them.
        lost: How many found no room in the recorder's buffer.
        is_full: Whether it ended because the logs took the room that they may.
        counted: What the recorder has counted, once it has ended by itself: `duration_s`; `rest_rx_packets` and
            `rest_tx_packets`, which no record has; and what it took, where that was asked for.
    """

    paths: Sequence[Path]
    removed: int
    by_poll: bool
    records: int
    lost: int
    is_full: bool
    counted: Mapping[str, Any]


def record(
    printed: AbstractContextManager[IO[bytes]],
    folder: Path,
    *,
    place: str,
    most_bytes: int,
    stretch_s: float = inf,
) -> Capture:
    """Writes the logs of a recording into a folder.

    Args:
        printed: What the recorder prints, while it runs.
        folder: Which exists.
        place: What errors call the recorder.
        most_bytes: How much the records may take as they come; as logs they take less. Where those are of stretches,
            how much all logs may take, and the records of one stretch.
        stretch_s: How long each log is, of which the oldest make room.

    Raises:
        InputError: it can't be run, fails, or prints anything else; or a log can't be written.
        UnsupportedError: the machine can't be recorded.
    """
    records = lost = 0
    is_full = False
    counted: Mapping[str, Any] = {}
    with Rotation(folder, most_bytes, stretch_s) as rotation:
        with printed as out:
            source = read_source(out, place)
            for said in read_chunks(out, source, place):
                if isinstance(said, Chunk):
                    kept = rotation.add(source, said)
                    records, lost, is_full = records + kept, said.lost, kept < len(said.records)
                else:
                    counted, lost = said, int(said["lost"])
                if is_full:
                    break
        paths = rotation.write_logs(source)
        return Capture(paths, rotation.removed, not source.queues, records, lost, is_full, counted)
