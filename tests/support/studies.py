"""Small studies on disk, for tests of whatever reads them."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from bayop.space import FREQ_MHZ, RX_USECS
from bayop.testing.fakes import Shape

COLUMNS: Final = ("os", "policy", "qps_offered", "itr_us", "freq_ghz", "power_w", "p50_us", "p99_us")
"""The fewest columns that a study may have, and one quantile more."""


def study_rows(
    *, delays: Sequence[float] = (2, 50, 200), freqs: Sequence[float] = (1300, 2000, 2900), qps: float = 1000.0
) -> list[dict[str, str]]:
    """The cells of a study of the fake server: one default row and one static row per setting."""
    shape = Shape()
    settings: list[dict[str, float | str]] = [{}]
    settings += [{RX_USECS: delay, FREQ_MHZ: freq} for delay in delays for freq in freqs]
    rows = []
    for setting in settings:
        truth = shape.at(setting, qps)
        rows.append(
            {
                "os": "linux",
                "policy": "static" if setting else "default",
                "qps_offered": f"{qps:g}",
                "itr_us": f"{setting[RX_USECS]:g}" if setting else "",
                "freq_ghz": f"{float(setting[FREQ_MHZ]) / 1000:g}" if setting else "",
                "power_w": f"{truth['power_w']:.6f}",
                "p50_us": f"{truth['p50_us']:.4f}",
                "p99_us": f"{truth['p99_us']:.4f}",
            }
        )
    return rows


def write_study(path: Path, rows: Iterable[Mapping[str, str]] | None = None, columns: Sequence[str] = COLUMNS) -> Path:
    """Writes rows as a study file and returns its path; cells of other columns are left out."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", restval="")
        writer.writeheader()
        writer.writerows(study_rows() if rows is None else rows)
    return path
