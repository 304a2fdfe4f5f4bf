"""What the programs of a run printed: mutilate, wrk and NetPIPE what the clients saw, the servers when it was.

mutilate prints a table, with a row of latencies in us for each kind of request, and the rate:

    #type       avg     std     min     5th    10th    50th    90th    95th    99th
    read      121.3    40.2    50.1    70.2    78.8   117.3   170.4   189.9   232.0
    Total QPS = 200003.4 (4000068 / 20.0s)

(https://github.com/leverich/mutilate, ConnectionStats.h, which has no 50th; https://github.com/ix-project/mutilate.)
wrk prints the mean and, if asked, quantiles, each with its unit, how many requests there were, and the rate:

      Thread Stats   Avg      Stdev     Max   +/- Stdev
        Latency    60.78us   53.65us   3.72ms   99.76%
         50%   59.00us
         99%   71.00us
      497541 requests in 30.10s, 74.02MB read
      Socket errors: connect 0, read 0, write 0, timeout 1
      Non-2xx or 3xx responses: 1
    Requests/sec:  16530.10

(https://github.com/wg/wrk, src/wrk.c and src/units.c; the last two lines before the rate only where there were any.)
NetPIPE's client prints the bytes of a message, the goodput in Mibit/s and the time of one way, in s. Its server prints
a line with a word that contains WORKLOAD and the time stamps of the first and the last message. memcached and silo on
Linux print a line for each connection whose third and fourth number are the time stamps of its first and last request;
Node.js does with the second and third number, 0 for one that has not ended. Node.js on EbbRT tells those of the load.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from bayop.errors import InputError
from bayop.interrupts.window import TickWindow
from bayop.units import convert

_TABLE: Final = "#type"
_ROW: Final = "read"
_RANK: Final = re.compile(r"([0-9]{1,2})(?:st|nd|rd|th)")
_RATE: Final = re.compile(r"Total QPS\s*=\s*([0-9.]+)\s*\([0-9]+\s*/\s*([0-9.]+)s\)")
_WRK_MEAN: Final = re.compile(r"^\s*Latency\s+(\S+)\s+\S+\s+\S+\s+\S+%\s*$", re.MULTILINE)
_WRK_QUANTILE: Final = re.compile(r"^\s*([0-9]{1,2})%\s+(\S+)\s*$", re.MULTILINE)
_WRK_TOTAL: Final = re.compile(r"^\s*[0-9]+ requests in ([^\s,]+),", re.MULTILINE)
_WRK_RATE: Final = re.compile(r"^Requests/sec:\s*(\S+)", re.MULTILINE)
_WRK_ERRORS: Final = re.compile(r"^\s*(?:Socket errors|Non-2xx or 3xx responses):", re.MULTILINE)
_WRK_TIME: Final = re.compile(r"([0-9.]+)(us|ms|s|m|h)")
_WORKLOAD: Final = "WORKLOAD"
_EBBRT_NETPIPE: Final = (
    "repeat", "bytes", "loop", "dvfs", "rapl", "itr", "package 0 J", "package 1 J", "goodput", "latency", "start", "end"
)  # fmt: skip
_WHOLE: Final = re.compile(r"[0-9]{1,18}")
_REAL: Final = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15})?")
_MIB: Final = 2**20


@dataclass(frozen=True, slots=True)
class Requests:
    """What mutilate or wrk saw.

    Attributes:
        quantities: `mean_us`, `p5_us` and the other quantiles of the latency (mutilate: of reads), and `qps`.
        load_s: How long the load lasted.
        failed: Whether some requests were told to have failed.
    """

    quantities: dict[str, float]
    load_s: float
    failed: bool = False


@dataclass(frozen=True, slots=True)
class ClosedLoop:
    """What NetPIPE saw.

    Attributes:
        message_bytes: Size of a message.
        goodput_mibit_s: Payload one way, in 2^20 bit/s.
    """

    message_bytes: int
    goodput_mibit_s: float

    @property
    def roundtrip_us(self) -> float:
        """The mean time of a round trip. NetPIPE prints it as well, with fewer digits."""
        return 2e6 * 8 * self.message_bytes / (self.goodput_mibit_s * _MIB)


def read_mutilate(text: str, place: str) -> Requests:
    """What mutilate printed.

    Raises:
        InputError: it did not print a table with a row of reads, and the rate.
    """
    rate = _RATE.search(text)
    if rate is None:
        raise InputError(
            "mutilate must have printed Total QPS = N (N / Ns)",
            wrong="mutilate's output has no total",
            place=place,
            hint=_excerpt(text),
        )
    # Some of the scripts write the bytes as Python shows them: b'#type ...
    rows = list(_cells(text))
    headers = [row for row in rows if row[0].removeprefix("b'") == _TABLE]
    reads = [row for row in rows if row[0] == _ROW]
    if len(headers) != 1 or len(reads) != 1 or len(headers[0]) != len(reads[0]):
        rule = f"mutilate must have printed one table, from {_TABLE} on, with one row {_ROW} and a number a column"
        raise InputError(rule, wrong="mutilate's output has no such table", place=place, hint=_excerpt(text))
    pairs = zip(headers[0][1:], reads[0][1:], strict=True)
    cells = {name: cell for column, cell in pairs if (name := _quantity(column)) is not None}
    quantities = {name: _positive(cell, f"{name} of mutilate's reads", place) for name, cell in cells.items()}
    quantities["qps"] = _positive(rate[1], "the rate", place)
    return Requests(quantities, _positive(rate[2], "the duration", place))


def read_wrk(text: str, place: str) -> Requests:
    """What wrk printed.

    Raises:
        InputError: it did not print the latency's mean and quantiles once, how long it ran, and the rate.
    """
    # Some of the scripts write the bytes as Python shows them, with ' at the end.
    text = text.rstrip().removesuffix("'")
    found = [pattern.findall(text) for pattern in (_WRK_MEAN, _WRK_TOTAL, _WRK_RATE)]
    ranks = _WRK_QUANTILE.findall(text)
    if any(len(each) != 1 for each in found) or not ranks or len({rank for rank, _ in ranks}) < len(ranks):
        rule = "wrk must have printed once the latency's mean and quantiles, N requests in Ns, Requests/sec"
        raise InputError(rule, wrong="wrk's output has no such summary", place=place, hint=_excerpt(text))
    (mean,), (duration,), (rate,) = found
    cells = {"mean_us": mean} | {f"p{int(rank)}_us": cell for rank, cell in ranks}
    quantities = {name: _time_us(cell, f"{name} of wrk's requests", place) for name, cell in cells.items()}
    quantities["qps"] = _positive(rate, "the rate", place)
    load_s = _time_us(duration, "the duration", place) / 1e6
    return Requests(quantities, load_s, failed=_WRK_ERRORS.search(text) is not None)


def read_netpipe_client(text: str, place: str) -> ClosedLoop:
    """What NetPIPE's client printed: its first line.

    Raises:
        InputError: that has no message size and goodput.
    """
    cells = _first_line(text)
    if len(cells) < 2:
        rule = "NetPIPE's client must have printed the size of a message and the goodput"
        raise InputError(rule, wrong="its output has neither", place=place, hint=_excerpt(text))
    return ClosedLoop(_size(cells[0], place), _positive(cells[1], "the goodput", place))


def read_netpipe_server(text: str, place: str) -> TickWindow:
    """The window of the workload that NetPIPE's server printed.

    Raises:
        InputError: it printed none.
    """
    for word, *cells in _cells(text):
        if _WORKLOAD in word:
            return _window(*_stamps(cells, place), place)
    raise InputError(
        f"the server must have printed a line {_WORKLOAD} with two time stamps",
        wrong="the server's output has no time stamps",
        place=place,
        hint=_excerpt(text),
    )


def read_ebbrt_netpipe(text: str, place: str) -> tuple[dict[str, str], ClosedLoop, TickWindow]:
    """What EbbRT's NetPIPE kept of its run: its label by the fields of a file name, what it saw, and its window.

    Raises:
        InputError: it is not a line of that.
    """
    cells = _first_line(text)
    if len(cells) != len(_EBBRT_NETPIPE):
        rule = f"EbbRT's NetPIPE must have printed {', '.join(_EBBRT_NETPIPE)}"
        raise InputError(rule, value=f"{len(cells)} fields", place=place)
    fields = dict(zip(_EBBRT_NETPIPE, cells, strict=True))
    output = ClosedLoop(_size(fields["bytes"], place), _positive(fields["goodput"], "the goodput", place))
    return fields, output, _window(*_stamps([fields["start"], fields["end"]], place), place)


def read_connections(text: str, place: str) -> TickWindow:
    """From when the last connection of a server on Linux began to when the last one ended.

    Raises:
        InputError: a line lacks its time stamps, there is no line, or the end is not after the beginning.
    """
    stamps = [_stamps(cells[2:], place) for cells in _cells(text)]
    if not stamps:
        raise InputError(
            "the server must have printed a line for each connection",
            wrong="the server's output has no line of a connection",
            place=place,
        )
    return _window(max(first for first, _ in stamps), max(last for _, last in stamps), place)


def read_nodejs_clock(text: str, place: str, load_ticks: int, *, numbered: bool) -> TickWindow:
    """From when the connection of the load began to when it ended, as the server told.

    wrk tries the server with another connection first, so that it is the one whose time comes closest to wrk's.

    Args:
        text: What the server told.
        place: The file.
        load_ticks: How long the load lasted.
        numbered: Whether a number of the connection stands before the stamps, as on Linux.

    Raises:
        InputError: a line lacks its time stamps, or none is of a connection for about as long as the load.
    """
    stamps = [_stamps(cells[numbered:], place) for cells in _cells(text)]
    whole = [(first, last) for first, last in stamps if load_ticks / 2 < last - first < load_ticks * 2]
    if not whole:
        raise InputError(
            "the server must have printed a line for the load's connection",
            wrong="the server's output has no connection that lasted about as long as the load",
            place=place,
        )
    return _window(*min(whole, key=lambda stamp: abs(stamp[1] - stamp[0] - load_ticks)), place)


def read_ebbrt_clock(text: str, place: str, load_ticks: int, *, with_end: bool = True) -> TickWindow:
    """The window of a load on EbbRT, whose server tells two time stamps and goes on logging.

    Args:
        text: What it told.
        place: The file.
        load_ticks: How long the load lasted; the window is no longer.
        with_end: Whether the second stamp ends the window where it is earlier. The authors' script for silo leaves it
            out.

    Raises:
        InputError: the stamps are not there, or the end is not after the beginning.
    """
    first, last = _stamps(_first_line(text), place)
    ends = first + load_ticks
    return _window(first, min(last, ends) if with_end else ends, place)


def _quantity(column: str) -> str | None:
    """What a column of mutilate's table is called in a study; None for those that a study leaves out."""
    if column == "avg":
        return "mean_us"
    rank = _RANK.fullmatch(column)
    return f"p{int(rank[1])}_us" if rank else None


def _cells(text: str) -> Iterator[list[str]]:
    """The words of each line that has any."""
    return filter(None, (line.split() for line in text.splitlines()))


def _first_line(text: str) -> list[str]:
    return next(_cells(text), [])


def _stamps(cells: Sequence[str], place: str) -> tuple[int, int]:
    if len(cells) < 2 or not all(_WHOLE.fullmatch(cell) for cell in cells[:2]):
        raise InputError("the server must have printed two time stamps", value=" ".join(cells[:2]), place=place)
    return int(cells[0]), int(cells[1])


def _window(first: int, last: int, place: str) -> TickWindow:
    if first >= last:
        raise InputError("a run must end after it began", value=f"from tick {first} to {last}", place=place)
    return TickWindow(first, last)


def _size(cell: str, place: str) -> int:
    if not _WHOLE.fullmatch(cell) or int(cell) == 0:
        raise InputError("the size of a message must be a whole number of bytes", value=cell, place=place)
    return int(cell)


def _positive(cell: str, what: str, place: str) -> float:
    if not _REAL.fullmatch(cell) or float(cell) == 0.0:
        raise InputError(f"{what} must be a positive number", value=cell, place=place)
    return float(cell)


def _time_us(cell: str, what: str, place: str) -> float:
    """A time that wrk printed."""
    match = _WRK_TIME.fullmatch(cell)
    if match is None:
        raise InputError(f"{what} must be a time such as 59.00us", value=cell, place=place)
    unit = "min" if match[2] == "m" else match[2]
    return convert(_positive(match[1], what, place), unit, "us")


def _excerpt(text: str) -> str:
    return f"it begins with {text[:60]!r}"
