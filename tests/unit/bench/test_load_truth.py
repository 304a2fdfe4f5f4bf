"""Requests of the segments that a test makes up; what the kernel sees takes root, clang and a server."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from bench.load.protocols import Row, table
from bench.load.truth import _EVENT, _each

START = 2**32 - 100
"""Sequence numbers wrap around in the middle."""


def segments(*sizes: int, again: Sequence[int] = ()) -> npt.NDArray[np.void]:
    """Segments of these sizes, one a us; some are sent again at the end."""
    offsets = np.cumsum([0, *sizes])[:-1]
    rows = [
        (time * 1000, (START + int(at)) % 2**32, size, 1)
        for time, (at, size) in enumerate(zip(offsets, sizes, strict=True))
    ]
    rows += [(len(rows) * 1000 + i, rows[at][1], rows[at][2], 1) for i, at in enumerate(again)]
    return np.array(rows, _EVENT)


def test_each_message_leaves_with_its_segment_and_a_handshake_is_none() -> None:
    times = _each(segments(58, 14, 28, 14, 5, again=[3]), 14, 0)
    assert times.tolist() == [1000, 2000, 2000, 3000]


def test_requests_that_tls_seals_together_or_sends_together_are_told_apart() -> None:
    hello, finished, one, two, two_records, goodbye = 218, 80, 63, 104, 126, 24
    times = _each(segments(hello, finished, one, two, two_records, goodbye), 41, 22)
    assert times.tolist() == [2000, 3000, 3000, 4000, 4000]


def test_the_table_has_medians_and_the_range_of_errors() -> None:
    rows = [Row("http", at, 1000.0, 990.0, reported, 100.0, 90.0) for at, reported in enumerate((101.0, 99.0, 104.0))]
    assert (
        table(rows).splitlines()[2] == "| http | 1,000/s | 990/s | 101 us | 90 us | 100 us | +1.0% (-1.0% to +4.0%) |"
    )
