"""What really happened on the wire: when every request left the client and when its reply arrived, seen by eBPF.

Both times are taken on the client's side of the connection, below its sockets: sending is the segment that holds a
request's first byte passing from TCP to IP, receiving is the segment that holds its reply's first byte passing from IP
to TCP. What the generator adds above them, in its own code or in system calls, is what a comparison shows.

Requests are of one size and replies too, so that the n-th request of a connection begins at a known byte, or in a known
segment.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import numpy as np
import numpy.typing as npt
from bench.load.libbpf import Programs

Times = npt.NDArray[np.int64]

_SOURCE: Final = Path(__file__).with_name("segments.bpf.c")
_EVENTS: Final = 1 << 22
_MOST_RECORDS: Final = 4
"""Of TLS in a segment: a write has one, and writes seldom meet."""
_EVENT: Final = np.dtype([("time_ns", "u8"), ("seq", "u4"), ("bytes", "u4"), ("port", "u8")])


class TruthError(RuntimeError):
    """The segments do not tell when requests were sent and answered."""


@dataclass(frozen=True, slots=True)
class Requests:
    """Answered requests in the order of sending; times in ns on CLOCK_MONOTONIC.

    Attributes:
        sent_ns: When each left.
        received_ns: When the first byte of its reply arrived.
    """

    sent_ns: Times
    received_ns: Times

    @property
    def qps(self) -> float:
        """Answers/s from the first request to the last answer."""
        return len(self.received_ns) / float(self.received_ns.max() - self.sent_ns.min()) * 1e9

    def latency_us(self, quantile: float) -> float:
        """A quantile of the time from leaving to arriving."""
        return float(np.quantile(self.received_ns - self.sent_ns, quantile)) / 1e3


class Watch:
    """Logs the segments of all clients of a port while the context lasts; needs root, clang and libbpf."""

    def __init__(self, port: int, build: Path) -> None:
        self._programs = Programs(_SOURCE, build=build, constants=struct.pack("=H", port))
        self._counts = self._programs.array(".bss", "u8", 2)
        self._logs = [self._programs.array(name, _EVENT, _EVENTS) for name in ("sent", "received")]
        for name in ("on_send", "on_receive"):
            self._programs.attach(name)

    def requests(self, request_bytes: int, reply_bytes: int) -> Requests:
        """What was answered until now, on connections that begin with the first request.

        Raises:
            TruthError: there were more segments than the log holds, or sizes are not as said.
        """
        sent, received = self._segments()
        return _requests(sent, received, lambda ours, theirs: _paired(ours, theirs, request_bytes, reply_bytes))

    def requests_of_segments(self, *, sealing_bytes: int = 0) -> Requests:
        """What was answered until now, where handshakes come before and requests that leave together are one segment.

        Most segments have one request, or one reply: what does not have a whole number of them is none.

        Args:
            sealing_bytes: What TLS adds to requests that it seals together.

        Raises:
            TruthError: there were more segments than the log holds, or not as many replies as requests.
        """
        sent, received = self._segments()
        request_bytes = int(np.bincount(sent["bytes"]).argmax()) - sealing_bytes
        reply_bytes = int(np.bincount(received["bytes"]).argmax())

        def pair(ours: npt.NDArray[np.void], theirs: npt.NDArray[np.void]) -> tuple[Times, Times]:
            sent_ns = _each(ours, request_bytes, sealing_bytes)
            received_ns = _each(theirs, reply_bytes, 0)
            if len(sent_ns) != len(received_ns):
                raise TruthError(f"{len(sent_ns)} requests and {len(received_ns)} replies on a connection")
            return sent_ns, received_ns

        return _requests(sent, received, pair)

    def _segments(self) -> list[npt.NDArray[np.void]]:
        """What was sent and what was received, as logged."""
        logs = []
        for log, count in zip(self._logs, self._counts.tolist(), strict=True):
            if count > _EVENTS:
                raise TruthError(f"{count} segments in a log of {_EVENTS}: measure for a shorter time")
            logs.append(log[:count].copy())
        return logs

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._programs.close()


def _requests(
    sent: npt.NDArray[np.void],
    received: npt.NDArray[np.void],
    pair: Callable[[npt.NDArray[np.void], npt.NDArray[np.void]], tuple[Times, Times]],
) -> Requests:
    """Those of all connections; `pair` has the times of one's."""
    ports = np.unique(received["port"])
    pairs = [pair(sent[sent["port"] == port], received[received["port"] == port]) for port in ports]
    if not pairs:
        raise TruthError("no segment was seen")
    sent_ns, received_ns = (np.concatenate(times) for times in zip(*pairs, strict=True))
    order = np.argsort(sent_ns, kind="stable")
    return Requests(sent_ns[order], received_ns[order])


def _each(segments: npt.NDArray[np.void], size: int, sealing: int) -> Times:
    """The time of each message of a size in segments that have some, in records that have `sealing` bytes beside."""
    _, times, lengths, _ = _stream(segments)
    counts = np.zeros_like(lengths)
    for records in range(1, _MOST_RECORDS + 1):
        messages, rest = np.divmod(lengths - records * sealing, size)
        fits = (rest == 0) & (messages >= records) & (counts == 0)
        counts[fits] = messages[fits]
    return np.repeat(times, counts)


def _paired(
    sent: npt.NDArray[np.void], received: npt.NDArray[np.void], request_bytes: int, reply_bytes: int
) -> tuple[Times, Times]:
    """The times of one connection's answered requests."""
    send_at, sent_ns, _, sent_bytes = _stream(sent)
    receive_at, received_ns, _, received_bytes = _stream(received)
    count = received_bytes // reply_bytes
    if received_bytes % reply_bytes or count > sent_bytes // request_bytes:
        raise TruthError(
            f"{sent_bytes} bytes in requests of {request_bytes}, and {received_bytes} bytes in replies of {reply_bytes}"
        )
    index = np.arange(count)
    at_send = np.searchsorted(send_at, index * request_bytes, side="right") - 1
    at_receive = np.searchsorted(receive_at, index * reply_bytes, side="right") - 1
    return sent_ns[at_send], received_ns[at_receive]


def _stream(segments: npt.NDArray[np.void]) -> tuple[Times, Times, Times, int]:
    """Offsets in the connection's bytes at which segments begin, their times and lengths, and the length of it all.

    What is sent again is left out. Sequence numbers wrap around (RFC 9293 section 3.4).
    """
    steps = np.diff(segments["seq"]).astype(np.int32)  # modulo 2^32, and then signed
    begin = np.concatenate(([0], np.cumsum(steps, dtype=np.int64)))
    end = begin + segments["bytes"]
    order = np.argsort(begin, kind="stable")
    begin, end, times = begin[order], end[order], segments["time_ns"][order].astype(np.int64)
    ends = np.maximum.accumulate(np.concatenate(([0], end[:-1])))
    new = end > ends
    return begin[new], times[new], (end - begin)[new], int(end.max())
