"""The experiments: the peak, the truth of a p99, a server that stalls, and the arrivals."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from bench.load.generators import Bayop, Generator, Report, Setup, Shape
from bench.load.processes import Answers, RunError, Stalls, memcached
from bench.load.truth import Requests, TruthError, Watch

QUANTILE: Final = 0.99
STALL_S: Final = 0.05
_PERIOD_S: Final = 1.0
_START_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Peak:
    """One run at the peak.

    Attributes:
        setup: Of the server.
        round: Runs of the same round were neighbours in time; 0 is the choice of the shape.
        generator: Its name.
        shape: Connections x requests under way on each.
        qps: Answers/s by the server's count.
        reported_qps: Answers/s by the generator's.
    """

    setup: str
    round: int
    generator: str
    shape: str
    qps: float
    reported_qps: float


@dataclass(frozen=True, slots=True)
class Accuracy:
    """A reported p99 beside the truth.

    Attributes:
        round: As above.
        generator: Its name.
        offered_qps: What it was told.
        achieved_qps: What was answered, seen by eBPF.
        reported_us: Its p99.
        wire_us: p99 from leaving to arriving, seen by eBPF below the client's sockets.
        due_us: The same from the intended send time, where the generator tells it.
        lateness_us: p99 of the time from the intended time to leaving, likewise.
    """

    round: int
    generator: str
    offered_qps: float
    achieved_qps: float
    reported_us: float
    wire_us: float
    due_us: float | None = None
    lateness_us: float | None = None

    @property
    def off(self) -> float:
        """Relative error of the reported p99 to the truth of what it says it is."""
        return self.reported_us / (self.due_us or self.wire_us) - 1.0


@dataclass(frozen=True, slots=True)
class Stalled:
    """A reported p99 of a server that stalls, beside the analytic one.

    Attributes:
        round: As above.
        generator: Its name.
        offered_qps: What it was told.
        achieved_qps: What was answered, by the server's count.
        reported_us: Its p99.
        analytic_us: What follows from the stalls as they were.
    """

    round: int
    generator: str
    offered_qps: float
    achieved_qps: float
    reported_us: float
    analytic_us: float

    @property
    def off(self) -> float:
        """Relative error."""
        return self.reported_us / self.analytic_us - 1.0


@dataclass(frozen=True, slots=True)
class Arrival:
    """Kolmogorov-Smirnov distances from a Poisson process at the offered load.

    Gaps are compared with the exponential distribution. Times are compared with the uniform distribution, which they
    have given their number (Cox and Lewis, "The Statistical Analysis of Series of Events", section 6.2).

    Attributes:
        round: As above.
        offered_qps: The load.
        requests: How many; chance alone gives a distance of up to 1.36 / sqrt(requests), in 95 % of all runs.
        intended_gaps: Of the gaps between intended send times.
        sent_times: Of the times at which requests left, as the kernel saw it.
        sent_gaps: Of the gaps between these.
        together: Share of requests that left in one segment with the one before.
        lateness_p50_us: Median of the time from the intended time to leaving.
    """

    round: int
    offered_qps: float
    requests: int
    intended_gaps: float
    sent_times: float
    sent_gaps: float
    together: float
    lateness_p50_us: float


class Bench:
    """Generators on one core and a server with the records stored on another."""

    def __init__(self, setup: Setup, *, server_cpu: int, duration_s: float, build: Path) -> None:
        self._setup, self._server_cpu, self._duration_s, self._build = setup, server_cpu, duration_s, build

    def peaks(self, round_: int, generators: Sequence[tuple[Generator, Shape]]) -> list[Peak]:
        """Runs every generator at its peak against the same server: the peaks of two servers differ by a quarter.

        Raises:
            RunError: a run was too short to count its answers.
        """
        rows = []
        with self._server() as (_, port):
            for generator, _ in generators:
                generator.store(port)
            for generator, shape in generators:
                run = partial(generator.load, port, shape, duration_s=self._duration_s, qps=None)
                report, qps = self._counted(port, run)
                rows.append(Peak(str(self._setup), round_, generator.name, str(shape), qps, report.qps))
        return rows

    def _server(self) -> AbstractContextManager[tuple[subprocess.Popen[bytes], int]]:
        return memcached(cpu=self._server_cpu, requests_per_event=self._setup.requests_per_event)

    def _counted(self, port: int, run: Callable[[], Report]) -> tuple[Report, float]:
        """What a run reports, and its answers/s by the server's count in the part in which it surely loads it."""
        from_s, to_s = min(_START_S, self._duration_s / 2), 0.9 * self._duration_s
        with Answers(port, from_s=from_s, to_s=to_s) as answers:
            report = run()
        if not answers.per_s:
            raise RunError(f"nothing was answered between {from_s:g} s and {to_s:g} s")
        return report, answers.per_s

    def accuracy(self, round_: int, generator: Generator, shape: Shape, qps: float) -> Accuracy:
        """Runs at a load with the kernel's log beside it."""
        if isinstance(generator, Bayop):
            return self._own(round_, generator, shape, qps)[0]
        with self._server() as (_, port):
            generator.store(port)
            with Watch(port, self._build) as watch:
                report = generator.load(port, shape, duration_s=self._duration_s, qps=qps)
                true = watch.requests(self._setup.request_bytes, self._setup.reply_bytes)
        return Accuracy(round_, generator.name, qps, true.qps, report.p99_us, true.latency_us(QUANTILE))

    def arrivals(self, round_: int, generator: Bayop, shape: Shape, qps: float) -> Arrival:
        """Runs at a load and compares its gaps with those that were asked for."""
        return self._own(round_, generator, shape, qps)[1]

    def _own(self, round_: int, generator: Bayop, shape: Shape, qps: float) -> tuple[Accuracy, Arrival]:
        with self._server() as (_, port):
            generator.store(port)
            with Watch(port, self._build) as watch:
                report = generator.load(port, shape, duration_s=self._duration_s, qps=qps, save_samples=True)
                true = watch.requests(self._setup.request_bytes, self._setup.reply_bytes)
        intended_ns = intended_times(generator.samples, true)
        due_us = float(np.quantile(true.received_ns - intended_ns, QUANTILE)) / 1e3
        late_us = (true.sent_ns - intended_ns) / 1e3
        accuracy = Accuracy(
            round_,
            generator.name,
            qps,
            true.qps,
            report.p99_us,
            true.latency_us(QUANTILE),
            due_us,
            float(np.quantile(late_us, QUANTILE)),
        )
        gaps_ns = _gaps(true.sent_ns)
        arrival = Arrival(
            round_,
            qps,
            len(intended_ns),
            exponential_distance(_gaps(np.sort(intended_ns)), 1e9 / qps),
            uniform_distance(true.sent_ns),
            exponential_distance(gaps_ns, 1e9 / qps),
            float(np.mean(gaps_ns == 0)),
            float(np.median(late_us)),
        )
        return accuracy, arrival

    def stalled(self, round_: int, generator: Generator, shape: Shape, qps: float) -> Stalled:
        """Runs at a load while the server is stopped again and again."""
        with self._server() as (server, port):
            generator.store(port)
            with Stalls(server, stall_s=STALL_S, period_s=_PERIOD_S) as stalls:
                run = partial(generator.load, port, shape, duration_s=self._duration_s, qps=qps)
                report, achieved_qps = self._counted(port, run)
        # Those before and after the load are like those within it, of which there is one in every period.
        spans_s = [end - start for start, end in stalls.spans_s]
        analytic_us = 1e6 * stalled_latency_s(spans_s, len(spans_s) * _PERIOD_S, QUANTILE)
        return Stalled(round_, generator.name, qps, achieved_qps, report.p99_us, analytic_us)


def best_shapes(peaks: Sequence[Peak]) -> dict[str, str]:
    """The shape with which each generator has its greatest peak."""
    ascending = sorted(peaks, key=lambda p: p.qps)
    return {p.generator: p.shape for p in ascending}


def stalled_latency_s(stalls_s: Sequence[float], duration_s: float, quantile: float) -> float:
    """A quantile of the latency when a server answers at once, except while it is stopped.

    A request that is due when `x` is left of a stall waits for `x`; requests are due at any time with the same
    probability. So the share that waits longer than `w` is the sum of max(stall - w, 0) / duration over all stalls,
    which falls in `w`.

    Raises:
        ValueError: less than 1 - quantile of the time is spent in stalls.
    """
    share, longest_first = 1.0 - quantile, sorted(stalls_s, reverse=True)
    total_s = 0.0
    for count, stall_s in enumerate(longest_first, start=1):
        total_s += stall_s
        wait_s = (total_s - share * duration_s) / count
        shorter_s = longest_first[count] if count < len(longest_first) else 0.0
        if shorter_s <= wait_s <= stall_s:
            return wait_s
    raise ValueError(f"stalls of {sum(stalls_s):g} s in {duration_s:g} s do not reach the quantile {quantile:g}")


def exponential_distance(gaps_ns: npt.NDArray[np.int64], mean_ns: float) -> float:
    """Kolmogorov-Smirnov distance between gaps and an exponential distribution of this mean."""
    values, counts = np.unique(gaps_ns, return_counts=True)
    return _distance(counts, -np.expm1(-values / mean_ns))


def uniform_distance(times_ns: npt.NDArray[np.int64]) -> float:
    """Kolmogorov-Smirnov distance between times and a uniform distribution from the first to the last."""
    values, counts = np.unique(times_ns, return_counts=True)
    return _distance(counts, (values - values[0]) / (values[-1] - values[0]))


def _distance(counts: npt.NDArray[np.intp], expected: npt.NDArray[np.float64]) -> float:
    """Between the steps of an empirical distribution and a continuous one; equal values are one step."""
    after = np.cumsum(counts) / counts.sum()
    before = after - counts / counts.sum()
    return float(np.max(np.maximum(np.abs(after - expected), np.abs(before - expected))))


def _gaps(times_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return times_ns[1:] - times_ns[:-1]


def intended_times(samples: Path, true: Requests) -> npt.NDArray[np.int64]:
    """Intended send times of the requests that the kernel saw, on its clock.

    The generator has one thread, which stamps requests right before it writes them, so its order of sending is the
    kernel's; times in its file count from an origin that is not told. It is taken to be such that the quickest write
    reached the kernel at once, which errs by that write's time, a microsecond or two.

    Raises:
        TruthError: the two do not have the same requests.
    """
    rows = np.loadtxt(samples, delimiter=",", skiprows=1, dtype=np.int64)
    if len(rows) != len(true.sent_ns):
        raise TruthError(f"the generator saved {len(rows)} requests, and the kernel saw {len(true.sent_ns)}")
    in_order = rows[np.lexsort((rows[:, 0], rows[:, 1]))]
    origin_ns = int(np.min(true.sent_ns - in_order[:, 1]))
    return np.asarray(in_order[:, 0] + origin_ns, np.int64)
