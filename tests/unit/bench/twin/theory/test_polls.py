from __future__ import annotations

import math

import pytest
from bench.twin.theory import polls


@pytest.mark.parametrize("packets", [0.01, 0.5, 3.0, 30.0])
def test_a_throttled_card_fires_as_two_states_say(packets: float) -> None:
    """After an interrupt that found packets: an interval. After one that found none: that, and a gap if none comes."""
    interval, arrivals = 200.0, packets / 200.0
    none = math.exp(-packets)
    gap = interval + none**2 / (arrivals * (1.0 + none))
    found = polls.throttled(arrivals, interval)
    assert found.per_time == pytest.approx(1.0 / gap)
    assert found.mean_wait == pytest.approx(interval**2 / 2.0 / gap)
    assert (found.mean_batch, found.busy_share) == (0.0, 0.0)


def test_a_lone_packet_takes_a_poll_and_its_service_and_its_completion_another_poll() -> None:
    found = polls.batches(1e-6, 3.0, 5.0)
    assert found.mean_wait + found.mean_batch == pytest.approx(8.0, rel=1e-4)
    assert found.busy_share == pytest.approx(1e-6 * (8.0 + 3.0), rel=1e-4)
    assert found.per_time == pytest.approx(2e-6, rel=1e-4)


def test_polls_that_cost_nothing_do_the_work_that_comes() -> None:
    assert polls.batches(0.7, 1e-6, 1.0).busy_share == pytest.approx(0.7, rel=1e-4)


def test_a_server_whose_batches_take_one_time_always_finds_what_came_in_it() -> None:
    """Many packets in a batch: it never idles, and a packet waits half a batch and stays for one."""
    found = polls.batches(0.3, 100.0, 0.0)
    assert found.mean_wait == pytest.approx(50.0)
    assert found.mean_batch == pytest.approx(100.0)
    assert found.busy_share == pytest.approx(1.0)
