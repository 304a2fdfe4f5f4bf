from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayop.interrupts.dispersion import LEAST_STRETCHES, index_of_dispersion, packets_by_stretch
from bayop.interrupts.log import open_log
from bayop.interrupts.observe import LEAST_DISPERSION
from bayop.interrupts.query import follow


def test_packets_are_counted_in_stretches_of_twenty_spacings() -> None:
    times = np.arange(0, 70, 2)  # stretches of 20 x 1: the one from 60 on is not whole
    packets = np.ones(len(times), np.int64)
    assert packets_by_stretch(times, packets, 1.0).tolist() == [10, 10, 10]


def test_a_queue_that_is_mostly_silent_has_no_stretches() -> None:
    assert len(packets_by_stretch(np.array([0, 1, 10_000]), np.ones(3, np.int64), 1.0)) == 0


@given(st.integers(0, 2**32 - 1), st.floats(0.1, 5.0), st.integers(1, 8))
def test_independent_packets_have_one_whatever_the_delay_makes_of_them(seed: int, delay: float, queues: int) -> None:
    """A moderated queue takes a Poisson process in batches: as many as came while it waited."""
    random = np.random.default_rng(seed)
    counts = []
    for _ in range(queues):
        spacing = delay + random.exponential(1.0, 20_000)
        times, packets = np.cumsum(1e3 * spacing).astype(np.int64), random.poisson(spacing)
        counts.append(packets_by_stretch(times, packets, float(np.median(1e3 * spacing))))
    index = index_of_dispersion(counts)
    assert index is not None
    assert 0.7 < index < 1.3


def test_packets_at_equal_distances_have_none() -> None:
    times = np.arange(50_000) * 1_000
    index = index_of_dispersion([packets_by_stretch(times, np.ones(len(times), np.int64), 1e3)])
    assert index == pytest.approx(0.0, abs=1e-3)


def test_few_stretches_tell_nothing() -> None:
    assert index_of_dispersion([np.ones(LEAST_STRETCHES - 1, np.int64)]) is None
    assert index_of_dispersion([np.zeros(LEAST_STRETCHES, np.int64)]) is None
    assert index_of_dispersion([]) is None


def test_a_published_closed_loop_is_seen_as_one(shared: Path) -> None:
    for path in sorted((shared / "data").glob("interrupts_netpipe_*.csv.gz")):
        log = open_log(path)
        batches = [(batch, summary.spacing) for batch, summary in follow(log, log.pieces())]
        times = np.concatenate([batch.interrupts["time_ticks"].to_numpy() for batch, _ in batches])
        packets = np.concatenate([batch.interrupts["rx_descriptors"].to_numpy() for batch, _ in batches])
        index = index_of_dispersion([packets_by_stretch(times, packets, batches[-1][1].quantile(0.5) or 0.0)])
        assert index is not None
        assert index < LEAST_DISPERSION, path.name
