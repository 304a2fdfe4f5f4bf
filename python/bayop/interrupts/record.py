"""Logs of a running kernel's interrupts, by `bayop-interrupts-record` (eBPF): one for each queue of a NIC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from bayop.interrupts.capture import Chunk, read_chunks, read_source, recorder_command
from bayop.interrupts.rotation import Rotation
from bayop.recorder import recorder


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
    words: Sequence[str],
    folder: Path,
    *,
    device: str,
    duration_s: float,
    most_bytes: int,
    stretch_s: float = inf,
    netns: str | None = None,
    cost: bool = False,
) -> Capture:
    """Runs the recorder, and writes its logs into a folder.

    Args:
        words: The program with its arguments, in front of it whatever brings it to the machine.
        folder: Which exists.
        device: The NIC.
        duration_s: How long it records at most.
        most_bytes: How much the records may take as they come; as logs they take less. Where those are of stretches,
            how much all logs may take, and the records of one stretch.
        stretch_s: How long each log is, of which the oldest make room.
        netns: The file of the device's network namespace.
        cost: Whether it measures what it takes.

    Raises:
        InputError: it can't be run, fails, or prints anything else; or a log can't be written.
        UnsupportedError: the machine can't be recorded.
    """
    place = f"recorder {words[0]}"
    command = recorder_command(words, device=device, duration_s=duration_s, netns=netns, cost=cost)
    records = lost = 0
    is_full = False
    counted: Mapping[str, Any] = {}
    with Rotation(folder, most_bytes, stretch_s) as rotation:
        with recorder(command, place=place) as out:
            source = read_source(out, place)
            for said in read_chunks(out, source, place):
                if isinstance(said, Chunk):
                    kept = rotation.add(source, said.records, said.time_s)
                    records, lost, is_full = records + kept, said.lost, kept < len(said.records)
                else:
                    counted, lost = said, int(said["lost"])
                if is_full:
                    break
        paths = rotation.write_logs(source)
        return Capture(paths, rotation.removed, not source.queues, records, lost, is_full, counted)
