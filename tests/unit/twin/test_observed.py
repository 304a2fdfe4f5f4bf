from __future__ import annotations

from dataclasses import replace

import numpy as np

from bayop.twin.handlers import HandlerTimes
from bayop.twin.observed import Observed

CAPTURE = Observed(
    name="logs", setting={}, qps=None, power_w=None, cpus=2, freq_mhz=2000.0, interrupts=1_000, duration_s=0.5,
    packets=3_000, utilization=0.25, handlers=HandlerTimes.of(np.array([3]), np.array([4.0])), delay_us=None,
    idle_shares={"C1": 0.75},
)  # fmt: skip


def test_a_capture_is_measured_by_the_second() -> None:
    assert CAPTURE.quantities == {"interrupts_per_s": 2_000.0, "packets_per_interrupt": 3.0, "utilization": 0.25}
    assert replace(CAPTURE, power_w=40.0).quantities["power_w"] == 40.0


def test_every_packet_counts_as_a_request_where_no_load_is_known() -> None:
    assert CAPTURE.requests_per_s == CAPTURE.packets_per_s == 6_000.0
    assert replace(CAPTURE, qps=5_000.0).requests_per_s == 5_000.0
