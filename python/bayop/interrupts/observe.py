"""What the logs of a capture show of the server that took the interrupts, for `bayop twin fit --capture`.

A log gives, without any model: the packets a second; how long handler and softirq took, interrupt by interrupt, with
the packets that each brought; the idle time of its CPUs; the frequency; and the delay in effect, where packets come
often enough for interrupts to wait for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from bayop.errors import InputError, unreadable
from bayop.interrupts.dispersion import index_of_dispersion, packets_by_stretch
from bayop.interrupts.histogram import Histogram
from bayop.interrupts.layout import ENERGY_UJ, IDLE_NS, Layout
from bayop.interrupts.log import open_log
from bayop.interrupts.numbers import pooled
from bayop.interrupts.query import follow
from bayop.space import FREQ_MHZ, RX_USECS
from bayop.twin.handlers import HandlerTimes
from bayop.twin.observed import Observed

if TYPE_CHECKING:
    import polars as pl

LEAST_INTERRUPTS: Final = 2_000
"""Of a whole capture: a mean over so many Poisson batches is known to about 2 %."""
LEAST_DISPERSION: Final = 0.5
"""Index of dispersion: 1 of independent clients, 0.10 to 0.33 in the four published logs of NetPIPE, a closed loop."""
LEAST_IDLE: Final = 0.05
"""Share of the time; a server that is closer to saturation, or spins, does not show what its requests take."""

_SHARP: Final = 0.15  # a delay is in effect when 5 % and 25 % of the spacings differ by no more than this
_SAME_FREQ: Final = 0.05  # of what was asked for; governors and counters scatter less
_HANDLERS: Final = ("hard_irq_ns", "soft_irq_ns")
_COUNTED: Final = 0.1  # of the busiest CPU's interrupts; one with fewer took them by chance, and is not the server's


@dataclass(frozen=True, slots=True)
class _Queue:
    """A log: what adds up, and for each CPU its `interrupts`, `first` and `last` (ns), and its idle ns by state.

    `energy_uj` is what the machine drew from the first of its records to the last; None without a meter.
    """

    spacing: Histogram
    handlers: HandlerTimes
    packets: int
    khz: float | None
    stretches: NDArray[np.int64]
    energy_uj: int | None
    span_ns: int
    cpus: pl.DataFrame


def observe(path: Path, *, setting: Mapping[str, float], qps: float | None, power_w: float | None) -> Observed:
    """Reads a capture: a log, or a folder with the logs of all queues at one setting.

    Args:
        path: Where it is.
        setting: What was in effect, by knob id, as whoever recorded it says.
        qps: Requests/s; None where nobody knows.
        power_w: What the server drew; None for what the logs say, if they do.

    Raises:
        InputError: a log is none, or has no source of what is needed; there are too few interrupts; they contradict the
            setting; or they are those of a closed loop.
    """
    import polars as pl

    queues = [_read(log) for log in _logs(path)]
    interrupts = sum(int(queue.handlers.count) for queue in queues)
    packets = sum(queue.packets for queue in queues)
    if min(interrupts, packets) < LEAST_INTERRUPTS:
        raise InputError(
            f"a capture must have at least {LEAST_INTERRUPTS} interrupts, and as many packets",
            value=f"{interrupts} and {packets}", place=str(path), hint="record for longer, or under more load",
        )  # fmt: skip
    _check_open_loop(queues, path)
    spacing = pooled([queue.spacing for queue in queues])
    rows = pl.concat([queue.cpus for queue in queues], how="diagonal").fill_null(0)
    duration_s = (int(rows["last"].max()) - int(rows["first"].min())) / 1e9  # type: ignore[arg-type]
    cpus = _of_server(rows)
    span_ns = int((cpus["last"] - cpus["first"]).sum())
    idle_ns = {name.removeprefix(IDLE_NS): int(cpus[name].sum()) for name in cpus.columns if name.startswith(IDLE_NS)}
    _check_idle(sum(idle_ns.values()), span_ns, path)
    return Observed(
        name=str(path),
        setting=setting,
        qps=qps,
        power_w=_power_w(queues) if power_w is None else power_w,
        cpus=len(cpus),
        freq_mhz=_freq_mhz(queues, setting, path),
        interrupts=interrupts,
        duration_s=duration_s,
        packets=packets,
        utilization=1.0 - sum(idle_ns.values()) / span_ns,
        handlers=HandlerTimes.added([queue.handlers for queue in queues]),
        delay_us=_delay_us(spacing, setting, path),
        idle_shares={state: ns / span_ns for state, ns in idle_ns.items()},
    )


def _logs(path: Path) -> Sequence[Path]:
    """The logs of a capture."""
    if not path.is_dir():
        return [path]
    try:
        logs = sorted(file for file in path.iterdir() if file.suffix == ".parquet")
    except OSError as error:
        raise unreadable(path, error) from error
    if not logs:
        raise InputError(
            "a folder must have the logs of a capture, such as eth0-rx-0.parquet", wrong=f"there is no log in {path}",
            hint="bayop interrupts record --out writes them",
        )  # fmt: skip
    return logs


def _read(path: Path) -> _Queue:
    log = open_log(path)
    _check_sources(log.layout, path)
    idle = [name for name in log.layout.amounts if name.startswith(IDLE_NS)]
    frames, spacing = [], Histogram()
    for batch, summary in follow(log, log.pieces()):
        frames.append(_needed(batch.interrupts, idle))
        spacing = summary.spacing
    import polars as pl

    frame = pl.concat(frames)
    times, packets = frame["time_ticks"].to_numpy(), frame["rx_descriptors"].to_numpy()
    khz = frame["freq_khz"].mean() if "freq_khz" in frame.columns else None
    return _Queue(
        spacing=spacing,
        handlers=HandlerTimes.of(packets, frame["handler_ns"].to_numpy() / 1e3),
        packets=int(packets.sum()),
        khz=float(khz) if isinstance(khz, float) and khz > 0.0 else None,
        energy_uj=int(frame[ENERGY_UJ].sum()) if ENERGY_UJ in frame.columns else None,
        span_ns=int(times[-1] - times[0]),
        stretches=packets_by_stretch(times, packets, spacing.quantile(0.5) or 0.0),
        cpus=_by_cpu(frame, idle),
    )


def _check_sources(layout: Layout, path: Path) -> None:
    hint = "record it with bayop interrupts record, on a kernel that tells of its idle states"
    for what, there in (
        ("idle times (idle_ns_*)", any(name.startswith(IDLE_NS) for name in layout.amounts)),
        ("the times of handlers (soft_irq_ns)", "soft_irq_ns" in layout.amounts),
        ("the CPU of each interrupt (cpu)", "cpu" in layout.labels),
    ):
        if not there:
            raise InputError(f"a capture must have {what}", wrong="a column is missing", place=str(path), hint=hint)


def _needed(records: pl.DataFrame, idle: Sequence[str]) -> pl.DataFrame:
    import polars as pl

    labels = [name for name in ("cpu", "freq_khz", ENERGY_UJ) if name in records.columns]
    handlers = [name for name in _HANDLERS if name in records.columns]
    return records.select(
        "time_ticks", "rx_descriptors", *labels, *idle, pl.sum_horizontal(handlers).alias("handler_ns")
    )


def _by_cpu(frame: pl.DataFrame, idle: Sequence[str]) -> pl.DataFrame:
    """A row for each CPU of a log; the idle times of its first record were before that, and have their own columns."""
    import polars as pl

    return frame.group_by("cpu").agg(
        pl.len().alias("interrupts"),
        pl.col("time_ticks").min().alias("first"), pl.col("time_ticks").max().alias("last"),
        *(pl.col(name).sum() for name in idle), *(pl.col(name).first().alias(f"first_{name}") for name in idle),
    )  # fmt: skip


def _of_server(rows: pl.DataFrame) -> pl.DataFrame:
    """The CPUs that serve, of the rows of all queues: only the very first record of a CPU tells of a time before."""
    import polars as pl

    idle = [name for name in rows.columns if name.startswith(IDLE_NS)]
    cpus = rows.sort("first").group_by("cpu").agg(
        pl.col("interrupts").sum(), pl.col("first").min(), pl.col("last").max(),
        *(pl.col(name).sum() - pl.col(f"first_{name}").first() for name in idle),
    )  # fmt: skip
    return cpus.filter(pl.col("interrupts") >= _COUNTED * pl.col("interrupts").max())


def _check_open_loop(queues: Sequence[_Queue], path: Path) -> None:
    """Refuses packets that come as if each waited for the one before: the twin's clients are independent."""
    index = index_of_dispersion([queue.stretches for queue in queues])
    if index is not None and index < LEAST_DISPERSION:
        raise InputError(
            "a capture must be of an open loop, whose packets come independently of each other",
            wrong=f"the packets scatter {index:.2f} times as much as those of independent clients",
            place=str(path),
            hint="a closed loop, such as NetPIPE or a benchmark of one connection, is slowed down by the delay itself: "
            "capture under the load of many clients",
        )


def _check_idle(idle_ns: int, span_ns: int, path: Path) -> None:
    """Refuses CPUs that are idle for longer than there is time, or hardly at all: how busy those are tells no cost."""
    if not idle_ns < span_ns:
        value = f"{idle_ns} of {span_ns} ns"
        raise InputError("idle times must be shorter than the capture", value=value, place=str(path))
    if idle_ns < LEAST_IDLE * span_ns:
        raise InputError(
            f"a capture must be of CPUs that are idle for at least {LEAST_IDLE:.0%} of the time",
            value=f"{idle_ns / span_ns:.1%}", place=str(path),
            hint="capture at a lower load, and without anything that spins on those CPUs, such as a load generator",
        )  # fmt: skip


def _freq_mhz(queues: Sequence[_Queue], setting: Mapping[str, float], path: Path) -> float:
    seen = [(queue.khz, queue.handlers.count) for queue in queues if queue.khz is not None]
    asked_mhz = setting.get(FREQ_MHZ)
    if not seen:
        if asked_mhz is None:
            raise InputError(
                "the frequency of a capture must be known", wrong="the log has no frequency (freq_khz)",
                place=str(path), hint="record it with a fixed one, and say so in the setting: cpu.freq_mhz=2.1GHz",
            )  # fmt: skip
        return asked_mhz
    seen_mhz = sum(khz * count for khz, count in seen) / sum(count for _, count in seen) / 1e3
    if asked_mhz is not None and abs(seen_mhz / asked_mhz - 1.0) > _SAME_FREQ:
        raise InputError(
            "a capture must have the frequency of its setting",
            wrong=f"cpu.freq_mhz is {asked_mhz:g}, and the log has {seen_mhz:.0f} MHz", place=str(path),
        )  # fmt: skip
    return seen_mhz


def _power_w(queues: Sequence[_Queue]) -> float | None:
    """Each log says it of the whole machine while it lasts."""
    told = [(queue.energy_uj, queue.span_ns) for queue in queues if queue.energy_uj is not None]
    span_ns = sum(ns for _, ns in told)
    return sum(uj for uj, _ in told) * 1e3 / span_ns if span_ns else None


def _delay_us(spacing: Histogram, setting: Mapping[str, float], path: Path) -> float | None:
    """The delay that interrupts keep, in us."""
    p5_us, p25_us, p50_us = ((spacing.quantile(share) or 0.0) / 1e3 for share in (0.05, 0.25, 0.5))
    asked_us = setting.get(RX_USECS, 0.0)
    if p50_us < asked_us / 2:
        raise InputError(
            "a capture must show the delay of its setting in effect",
            wrong=f"nic.rx_usecs is {asked_us:g}, and half of the interrupts come within {p50_us:.1f} us",
            place=str(path),
            hint="drivers round and clamp: bayop interrupts watch shows which delay is kept",
        )
    return p5_us if asked_us and p25_us <= (1.0 + _SHARP) * p5_us else None
