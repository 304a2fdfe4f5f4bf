"""Synthetic logs of any length, made chunk by chunk: as text of intlog, with the mixture of records that it has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from bayop.interrupts.intlog import fields_of, layout_of, name_of
from bayop.interrupts.layout import ENERGY_UNIT_J, TSC_HZ

FIELDS = 16
CHUNK = 2**20
# A dynamic policy that moves between three delays, as in the published logs: 8, 20 and 128 us.
DELAYS_US = (8.0, 20.0, 128.0)
PHASE_RECORDS = 2**16
SAMPLE_S = 0.001
POWER_W = 80.0


def write_log(path: Path, records: int, seed: int) -> None:
    """Writes a log of so many records; the energy counter wraps on the way, every 14 minutes at 80 W."""
    columns = [name_of(c) for c in fields_of(layout_of(FIELDS, tsc_hz=None, energy_unit_j=None))]
    with path.open("wb") as file:
        for chunk in chunks(records, seed):
            chunk.select(columns).write_csv(file, separator=" ", include_header=False)


def chunks(records: int, seed: int) -> Iterator[pl.DataFrame]:
    """The records, about a million at a time."""
    random = np.random.default_rng(seed)
    time, since_sample = TSC_HZ, 0
    for first in range(0, records, CHUNK):
        entries = np.arange(first, min(first + CHUNK, records))
        delays = np.array(DELAYS_US)[(entries // PHASE_RECORDS) % len(DELAYS_US)]
        gaps = (delays * random.lognormal(0.0, 0.1, len(entries)) * TSC_HZ / 1e6).astype(np.int64)
        times = time + np.cumsum(gaps)
        due = (times - since_sample) // int(SAMPLE_S * TSC_HZ)
        sampled = np.diff(due, prepend=0) > 0
        time, since_sample = int(times[-1]), int(times[-1]) - int((times[-1] - since_sample) % int(SAMPLE_S * TSC_HZ))
        seconds = times / TSC_HZ
        packets = random.integers(0, 7, (2, len(entries)))
        yield pl.DataFrame(
            {
                "i": entries,
                "rx_desc": packets[0],
                "rx_bytes": packets[0] * 1448,
                "tx_desc": packets[1],
                "tx_bytes": packets[1] * 1448,
                "instructions": np.where(sampled, (2.0e9 * seconds).astype(np.int64), 0),
                "cycles": np.where(sampled, (1.2e9 * seconds).astype(np.int64), 0),
                "ref_cycles": np.where(sampled, (1.5e9 * seconds).astype(np.int64), 0),
                "llc_miss": np.where(sampled, (1e6 * seconds).astype(np.int64), 0),
                "c1": np.where(sampled, (1e4 * seconds).astype(np.int64), 0),
                "c1e": np.where(sampled, (2e4 * seconds).astype(np.int64), 0),
                "c3": np.where(sampled, (1e3 * seconds).astype(np.int64), 0),
                "c6": np.zeros(len(entries), dtype=np.int64),
                "c7": np.where(sampled, (5e2 * seconds).astype(np.int64), 0),
                "joules": np.where(sampled, (POWER_W / ENERGY_UNIT_J * seconds).astype(np.int64) % 2**32, 0),
                "timestamp": times,
            }
        )
