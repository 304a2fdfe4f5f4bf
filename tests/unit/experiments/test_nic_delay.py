"""What interrupts and packets say about a delay; the whole calibration is tested end to end."""

from __future__ import annotations

import pytest

from bayop.errors import UnsupportedError
from bayop.experiments.nic_delay import DENSE, Delay, _delay
from bayop.live.agent.messages import Cause, Reading


def sample(time_s: float, packets: float | None, **interrupts: float) -> list[Reading]:
    def counter(name: str, at: str, value: float | None) -> Reading:
        error = None if value is not None else Cause("it failed", None, None, None, None)
        return Reading(name, at, value, "counter", "/sys/x", estimated=False, time_s=time_s, error=error)

    queues = [counter("interrupts", f"eth0/{queue.replace('_', '-')}", count) for queue, count in interrupts.items()]
    return [counter("nic_rx_packets", "eth0", packets), *queues, counter("interrupts", "eth1/rx-0", 9e9)]


def delay(before: list[Reading], after: list[Reading]) -> Delay:
    return _delay("eth0", 100.0, before, after)


def test_dense_traffic_shows_the_distance_of_interrupts() -> None:
    measured = delay(sample(0.0, 0, rx_0=0), sample(2.0, 200_000, rx_0=20_000))
    assert measured == Delay(100.0, 100.0, 10.0)
    assert measured.effective_us == 100.0


def test_thin_traffic_shows_nothing() -> None:
    measured = delay(sample(0.0, 0, rx_0=0), sample(2.0, 20_000, rx_0=20_000))
    assert measured.packets_per_interrupt < DENSE
    assert measured.effective_us is None


def test_each_busy_queue_has_its_own_distance() -> None:
    measured = delay(sample(0.0, 0, rx_0=0, rx_1=0, rx_2=0), sample(1.0, 200_000, rx_0=10_000, rx_1=10_000, rx_2=3))
    assert measured.effective_us == pytest.approx(100.0)


def test_transmit_queues_have_a_delay_of_their_own() -> None:
    measured = delay(sample(0.0, 0, rx_0=0, tx_0=0), sample(1.0, 100_000, rx_0=10_000, tx_0=90_000))
    assert measured.effective_us == pytest.approx(100.0)


def test_silence_is_no_delay() -> None:
    assert delay(sample(0.0, 5, rx_0=7), sample(1.0, 5, rx_0=7)).effective_us is None


def test_a_device_without_interrupts_of_its_own_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="counts no interrupts and packets"):
        delay(sample(0.0, 0), sample(1.0, 1))
    with pytest.raises(UnsupportedError, match="the counter can't be read"):
        delay(sample(0.0, None, rx_0=1), sample(1.0, 1, rx_0=1))
