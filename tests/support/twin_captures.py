"""Captures whose every number is known: the twin says what a server would do, and logs are drawn that show it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from bayop import _core
from bayop.interrupts import parquet
from bayop.interrupts.batch import Batch
from bayop.interrupts.layout import IDLE_NS, INTERRUPT_COLUMNS, Layout
from bayop.space import FREQ_MHZ, RX_USECS
from bayop.twin.profile_library import load_profile

MACHINE: Final = """\
# own.toml
base = "linux-memcached"
name = "our memcached"

[machine]
cores = 4
package_cores = 4
frequency_domain_cores = 4
"""
"""A profile for the server that is captured; whoever fits knows no more."""
TRUTH: Final[Mapping[str, float]] = {
    "os.interrupt_kcycles": 2.5,
    "os.packet_kcycles": 0.6,
    "os.lone_packet_kcycles": 0.0,
    "os.tx_clean_kcycles": 0.0,
    "machine.nic.rx_usecs_tick_factor": 1.1,
    "app.request_kcycles": 12.0,
    "app.ack_share": 0.2,
    "app.ack_timeout_us": 1e7,
    "app.ack_rx_usecs": 1e9,
    "machine.power.static_w": 45.0,
}
"""What the server has instead of the profile's numbers."""
QPS: Final = 60_000.0
SETTINGS: Final[Mapping[str, Mapping[str, float]]] = {
    "logs/20us": {RX_USECS: 20.0, FREQ_MHZ: 2900.0},
    "logs/200us": {RX_USECS: 200.0, FREQ_MHZ: 2900.0},
    "logs/100us": {RX_USECS: 100.0, FREQ_MHZ: 1900.0},
}
"""What was set during each capture."""


def write_twin_capture(
    folder: Path,
    profile: _core.Profile,
    *,
    qps: float,
    setting: Mapping[str, float],
    seed: int = 0,
    requests: int = 40_000,
) -> _core.Measurement:
    """Writes a log for every core of a profile into a new folder, and returns what the twin has measured.

    Interrupts, packets, utilization and idle states are as many as in the window. Interrupts keep the delay, and come
    at random after it; how long a handler takes is exact: the interrupt's and the packets' costs, 5 % scattered.
    """
    numbers = profile.values()
    (window,) = _core.simulate(profile, [{"qps": qps, "setting": setting, "requests": requests, "seed": seed}])
    random = np.random.default_rng(seed)
    kcycle_us = 1e3 / setting[FREQ_MHZ] + numbers["os.memory_us_per_kcycle"]
    fixed_us, each_us = (kcycle_us * numbers[f"os.{part}_kcycles"] for part in ("interrupt", "packet"))
    cores = profile.serving_cores
    count = round(window["interrupts_per_s"] * window["duration_s"] / cores)
    mean_us = 1e6 * cores / window["interrupts_per_s"]
    delay_us = numbers["machine.nic.rx_usecs_tick_factor"] * setting[RX_USECS]
    folder.mkdir(parents=True)
    for cpu in range(cores):
        spacing_us = delay_us + random.exponential(mean_us - delay_us, count)
        packets = random.poisson(window["packets_per_s"] / cores * spacing_us / 1e6)
        soft_us = (fixed_us + each_us * packets) * random.normal(1.0, 0.05, count)
        columns = {
            **records(np.cumsum(1e3 * spacing_us), packets),
            "cpu": np.full(count, cpu),
            "soft_irq_ns": 800.0 * soft_us,
            "hard_irq_ns": 200.0 * soft_us,
            **{f"{IDLE_NS}{name}": 1e3 * share * spacing_us for name, share in window["idle_residency"].items()},
        }
        write_log(folder / f"eth0-rx-{cpu}.parquet", columns)
    return window


def records(times_ns: np.ndarray, packets: np.ndarray) -> dict[str, np.ndarray]:
    """The columns that every log has, of interrupts that brought small packets and sent as many."""
    return {
        "entry": np.arange(len(times_ns)),
        "time_ticks": times_ns,
        "rx_descriptors": packets,
        "rx_bytes": 100 * packets,
        "tx_descriptors": packets,
        "tx_bytes": 200 * packets,
    }


def write_log(path: Path, columns: Mapping[str, np.ndarray]) -> Path:
    """Writes columns as a log of the recorder, and returns its path."""
    labels = ("cpu", "freq_khz")
    layout = Layout(
        name="eBPF, drawn", tick_hz=10**9, tsc_hz=10**9, energy_unit_j=1.0, energy_bits=None, counter_bits=None,
        has_counters=False, labels=tuple(name for name in columns if name in labels),
        amounts=tuple(name for name in columns if name not in (*INTERRUPT_COLUMNS, *labels)),
    )  # fmt: skip
    frame = pl.DataFrame({name: columns[name].astype(np.int64) for name in layout.every})
    samples = pl.DataFrame(schema={"row": pl.Int64, "time_ticks": pl.Int64})
    parquet.write([Batch(layout, 0, frame, samples)], layout, path)
    return path


def write_twin_captures(folder: Path) -> dict[str, _core.Measurement]:
    """Writes a server's captures into a folder, one for each of `SETTINGS`, and `MACHINE` as `own.toml`.

    Returns:
        What the twin has measured, by the captures' names.
    """
    own = folder / "own.toml"
    own.write_text(MACHINE, encoding="utf-8")
    server = load_profile(str(own)).with_values(TRUTH)
    return {
        name: write_twin_capture(folder / name, server, qps=QPS, setting=setting, seed=seed)
        for seed, (name, setting) in enumerate(SETTINGS.items())
    }
