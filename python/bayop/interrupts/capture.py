"""How `bayop-interrupts-record` is called, and what it prints: where each number stands, records, what it counted.

The records of a moment come as they are in the kernel's memory, after a line of JSON with their number: reading them
costs next to nothing, at any rate that a NIC interrupts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, Final

import numpy as np
from numpy.typing import NDArray

from bayop.errors import InputError
from bayop.interrupts.layout import ENERGY_UJ, Layout
from bayop.json_text import parse_object
from bayop.recorder import BY_HAND, recorder

LABELS: Final = ("irq", "cpu", "napi_id", "freq_khz")
"""What says where and how a record was taken."""
COLUMN_OF: Final[Mapping[str, str]] = {
    "time_ticks": "time_ns", "rx_descriptors": "rx_packets", "rx_bytes": "rx_bytes", "tx_descriptors": "tx_packets",
    "tx_bytes": "tx_bytes",
}  # fmt: skip
"""The recorder's name of what every log has."""

_TICK_HZ: Final = 1_000_000_000
_MOST_LINE: Final = 2**20
_MOST_RECORDS: Final = 2**22
_RULE: Final = "a recorder must print records of interrupts between lines of JSON"


@dataclass(frozen=True, slots=True)
class Source:
    """What is recorded, and how a record looks.

    Attributes:
        device: The NIC.
        queues: Names of its interrupts by their number; empty where polls are recorded.
        record: Names, places and sizes of a record's numbers.
        by: What has recorded it, for people.
        meter: How the machine's energy is read beside the records; None without a meter.
    """

    device: str
    queues: Mapping[int, str]
    record: np.dtype[np.void]
    by: str
    meter: str | None

    @property
    def key(self) -> str:
        """The number that tells the records of one queue from those of another."""
        return "irq" if self.queues else "napi_id"

    def name_of(self, key: int) -> str:
        """What a queue is called."""
        return self.queues.get(key, f"irq-{key}") if self.queues else f"{self.device}-napi-{key}"

    def layout(self, name: str) -> Layout:
        """What the numbers of a queue's log mean."""
        names = self.record.names or ()
        amounts = tuple(field for field in names if field not in (*LABELS, *COLUMN_OF.values()))
        return Layout(
            name=f"{self.by}, {name}", tick_hz=_TICK_HZ, tsc_hz=_TICK_HZ, energy_unit_j=1.0, energy_bits=None,
            counter_bits=None, has_counters=False, labels=tuple(field for field in LABELS if field in names),
            amounts=amounts if self.meter is None else (*amounts, ENERGY_UJ),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Chunk:
    """The records of a moment.

    Attributes:
        records: In the order in which they were complete.
        lost: How many have found no room since the recording began.
        time_s: Since the recording began.
        delay_us: How long a packet may wait by what the device is asked for: its rx_usecs, or the timeout of its polls
            where those are recorded; None where nothing tells.
        energy: A time in ns, as records have it, and what the machine had drawn by then since the recording began, in
            uJ; None where the meter does not tell.
    """

    records: NDArray[np.void]
    lost: int
    time_s: float
    delay_us: float | None
    energy: tuple[int, int] | None = None


def recorder_place(words: Sequence[str]) -> str:
    """What errors call a recorder."""
    return f"recorder {words[0]}"


@contextmanager
def recorded(
    words: Sequence[str],
    *,
    device: str,
    duration_s: float,
    netns: str | None = None,
    counters: str | None = None,
    cost: bool = False,
) -> Iterator[IO[bytes]]:
    """What the recorder prints, while it runs.

    Args:
        words: The program with its arguments, in front of it whatever brings it to the machine.
        device: The NIC.
        duration_s: How long it records at most.
        netns: The file of the device's network namespace.
        counters: What CPUs count, with commas between; None for what the recorder takes without being told.
        cost: Whether it measures what it takes.

    Raises:
        InputError: it can't be run, or fails.
        UnsupportedError: the machine can't be recorded.
    """
    command = [*words, "--device", device, "--duration-s", f"{duration_s:g}"]
    command += ["--netns", netns] if netns is not None else []
    command += ["--counters", counters] if counters is not None else []
    with recorder([*command, "--cost"] if cost else command, place=recorder_place(words)) as out:
        yield out


def read_source(out: IO[bytes], place: str) -> Source:
    """The first line.

    Raises:
        InputError: it is another one.
    """
    said = _line(out, place)
    try:
        fields = said["fields"]
        record = np.dtype(
            {
                "names": [field["name"] for field in fields],
                "formats": [f"<u{field['bytes']}" for field in fields],
                "offsets": [field["offset"] for field in fields],
                "itemsize": said["record_bytes"],
            }
        )
        queues = {int(queue["irq"]): str(queue["name"]) for queue in said["queues"]}
        meter = None if said.get("meter") is None else str(said["meter"])
        source = Source(str(said["device"]), queues, record, str(said.get("by", "eBPF")), meter)
    except (KeyError, TypeError, ValueError):
        raise _nonsense(said, place) from None
    if not {source.key, "cpu", *COLUMN_OF.values()} <= set(record.names or ()):
        raise _nonsense(said, place)
    return source


def read_chunks(out: IO[bytes], source: Source, place: str) -> Iterator[Chunk | Mapping[str, Any]]:
    """The records by the moment, and at last what the recorder has counted.

    Raises:
        InputError: it prints anything else, or ends without its last line.
    """
    while True:
        said = _line(out, place)
        if "duration_s" in said:
            yield said
            return
        try:
            count, lost, time_s = int(said["records"]), int(said["lost"]), float(said["time_s"])
            delay_us = None if said["delay_us"] is None else float(said["delay_us"])
            drawn = said.get("energy")
            energy = None if drawn is None else (int(drawn["time_ns"]), int(drawn["energy_uj"]))
        except (KeyError, TypeError, ValueError):
            raise _nonsense(said, place) from None
        if not 0 <= count <= _MOST_RECORDS:
            raise _nonsense(said, place)
        data = out.read(count * source.record.itemsize)
        if len(data) < count * source.record.itemsize:
            raise _ended(place)
        yield Chunk(np.frombuffer(data, source.record), lost, time_s, delay_us, energy)


def _line(out: IO[bytes], place: str) -> dict[str, Any]:
    line = out.readline(_MOST_LINE)
    if not line:
        raise _ended(place)
    return parse_object(line, rule=_RULE, place=place, hint=BY_HAND)


def _ended(place: str) -> InputError:
    return InputError(wrong="the recorder ended before its last line", place=place, hint=BY_HAND)


def _nonsense(said: object, place: str) -> InputError:
    return InputError(_RULE, value=str(said)[:80], place=place, hint=BY_HAND)
