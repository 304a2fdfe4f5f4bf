from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO

import pytest
from tests.support.captures import chunk, header

from bayop.interrupts.capture import read_chunks, read_source
from bayop.interrupts.watch import Moment, Spacing, moments


def watched(*printed: bytes, interval_s: float = 1.0, source: Mapping[str, object] | None = None) -> list[Moment]:
    out = BytesIO(header(**(source or {})) + b"".join(printed) + b'{"duration_s": 9, "lost": 0}\n')
    return list(moments(read_chunks(out, first := read_source(out, "here"), "here"), first, interval_s))


def came(at_us: int, *, irq: int = 24, cpu: int = 0, rx: int = 2, idle_us: int = 0) -> tuple[int, ...]:
    """A record of an interrupt."""
    return (at_us * 1000, irq, cpu, rx, 100 * rx, 1, 60, 1, idle_us * 1000)


def test_spacing_is_held_against_the_delay_that_is_asked() -> None:
    (moment,) = watched(chunk(*(came(at_us) for at_us in (0, 100, 200, 300, 350)), time_s=1.0, delay_us=100.0))
    (queue,) = moment.queues
    assert (queue.queue, queue.cpus, queue.interrupts_per_s) == ("eth0-rx-0", (0,), 5.0)
    assert queue.spacing == Spacing(p1_us=50.0, p50_us=100.0, p99_us=100.0, kept_share=0.75)
    assert (queue.rx_packets, queue.tx_packets) == (2.0, 1.0)


def test_a_moment_goes_on_where_the_last_one_ended() -> None:
    first, second = watched(
        chunk(came(0), time_s=0.6), chunk(came(100), time_s=1.2, lost=3), chunk(came(400), time_s=2.2, lost=4)
    )
    assert [moment.time_s for moment in (first, second)] == [1.2, 2.2]
    assert [moment.lost for moment in (first, second)] == [3, 1]
    spacings = [queue.spacing for moment in (first, second) for queue in moment.queues]
    assert [spacing and spacing.p50_us for spacing in spacings] == [100.0, 300.0]


def test_a_moment_without_interrupts_is_one_too() -> None:
    quiet, busy = watched(chunk(time_s=1.0), chunk(came(5), time_s=2.0))
    assert quiet.queues == ()
    assert busy.queues[0].spacing is None


def test_idle_time_is_that_of_the_cpu_since_its_record_before() -> None:
    """Two queues on one CPU: each record tells of the time since the other's."""
    records = [came(0), came(100, irq=25, idle_us=80), came(200, idle_us=40), came(300, irq=25, idle_us=80)]
    (moment,) = watched(chunk(*records, time_s=1.0))
    assert {queue.queue: queue.idle_share for queue in moment.queues} == {"eth0 tx/0": 0.8, "eth0-rx-0": 0.4}


def test_records_that_were_complete_late_have_their_place() -> None:
    """A record is complete when the next of its queue comes: that of a rare queue lies before what is known."""
    first, second = watched(chunk(came(0), came(900), time_s=1.0), chunk(came(100, irq=25, idle_us=50), time_s=2.0))
    assert first.queues[0].interrupts_per_s == 2.0
    assert second.queues[0].idle_share is None


def test_the_last_moment_may_be_a_little_short() -> None:
    assert len(watched(chunk(came(0), time_s=1.0), chunk(came(5), time_s=1.95))) == 2
    assert len(watched(chunk(came(0), time_s=1.0), chunk(came(5), time_s=1.5))) == 1


def test_what_nothing_tells_is_none() -> None:
    names = ("time_ns", "irq", "cpu", "rx_packets", "rx_bytes", "tx_packets", "tx_bytes", "polls", "hard_irq_ns")
    fields = [{"name": name, "offset": 8 * number, "bytes": 8} for number, name in enumerate(names)]
    (moment,) = watched(chunk(came(0), came(100, idle_us=50), time_s=1.0, delay_us=None), source={"fields": fields})
    (queue,) = moment.queues
    assert moment.delay_us is None
    assert queue.spacing is not None
    assert (queue.spacing.kept_share, queue.idle_share) == (None, None)
    assert queue.irq_share == pytest.approx(50e-6)
