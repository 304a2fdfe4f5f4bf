"""Results of the load generator by hand, for tests of whatever judges them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from bayop import _core
from bayop.load.generator import Result

_BATCHES: Final = 10
_COUNTS: Final = (
    "intended answered timestamped refused lost_closed lost_timed_out lost_garbage lost_unconnected gets misses "
    "answers_in_time bytes_sent bytes_received reconnects queued status_2xx status_3xx status_4xx status_5xx"
)


def load_report(
    latencies_us: Sequence[float], *, late_us: float = 0.0, failed: int = 0, **counts: int
) -> _core.LoadReport:
    """What a generator saw in one second of ten equal batches.

    Args:
        latencies_us: Latencies of the requests of a batch.
        late_us: How late each of them was sent.
        failed: How many more of a batch had no answer in time.
        counts: Counts that are not to follow from these.
    """
    ordered = sorted(latencies_us)
    answered, lost = _BATCHES * len(ordered), _BATCHES * failed
    fates = {"intended": answered + lost, "lost_timed_out": lost}
    fates |= dict.fromkeys(("answered", "timestamped", "answers_in_time"), answered)
    return _core.LoadReport.from_json(
        json.dumps(
            {
                "batches": [{"latency": [[_ns(us), 1] for us in ordered], "failed": failed}] * _BATCHES,
                "lateness": [[_ns(late_us), answered + lost]],
                "punctual": [[_ns(us - late_us), _BATCHES] for us in ordered],
                "counts": dict.fromkeys(_COUNTS.split(), 0) | fates | counts,
                "duration_s": 1.0,
                "troubles": {},
                "mix": {},
                "ended_early": False,
                "interrupted": False,
                "samples": [],
            }
        )
    )


def load_result(
    latencies_us: Sequence[float],
    *,
    late_us: float = 0.0,
    failed: int = 0,
    offered_qps: float | None = 1.0,
    **counts: int,
) -> Result:
    """The result of such a report."""
    return Result(load_report(latencies_us, late_us=late_us, failed=failed, **counts), offered_qps)


def _ns(duration_us: float) -> int:
    return round(duration_us * 1000)
