"""Studies that the twin itself wrote: measurements of a server whose every number is known."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.support.studies import write_study

from bayop import _core
from bayop.space import FREQ_MHZ, RX_USECS

COLUMNS: Final = (
    "os", "policy", "qps_offered", "itr_us", "freq_ghz", "rapl_limit_w", "repeat", "qps_measured",
    "p5_us", "p50_us", "p90_us", "p99_us", "duration_s", "power_w", "interrupts", "busy_frac",
)  # fmt: skip
_DELAYS_US: Final = (10.0, 100.0, 400.0)
_FREQS_MHZ: Final = (1500.0, 2900.0)


def write_twin_study(
    path: Path,
    profile: _core.Profile,
    *,
    os: str,
    loads: tuple[float, ...] = (200_000.0, 500_000.0),
    requests: int = 20_000,
    repeats: int = 1,
) -> Path:
    """Writes a small sweep of a profile, with its default policy, as a study file and returns its path."""
    settings = [{}, *({RX_USECS: delay, FREQ_MHZ: freq} for delay in _DELAYS_US for freq in _FREQS_MHZ)]
    runs: list[_core.Run] = [
        {"qps": qps, "setting": setting, "requests": requests, "seed": 100 + repeat}
        for qps in loads
        for setting in settings
        for repeat in range(repeats)
    ]
    windows = _core.simulate(profile, runs, threads=2)
    rows = []
    for index, (run, window) in enumerate(zip(runs, windows, strict=True)):
        setting = run["setting"] or {}
        delay, freq = setting.get(RX_USECS), setting.get(FREQ_MHZ)
        rows.append(
            {
                "os": os,
                "policy": "default" if delay is None else "static",
                "qps_offered": f"{run['qps']:g}",
                "itr_us": "" if delay is None else f"{delay:g}",
                "freq_ghz": "" if freq is None else f"{freq / 1000:g}",
                "rapl_limit_w": "135",
                "repeat": str(index % repeats),
                "qps_measured": str(window["qps"]),
                **{name: str(window[name]) for name in ("p5_us", "p50_us", "p90_us", "p99_us", "power_w")},
                "duration_s": str(window["duration_s"]),
                "interrupts": str(window["interrupts_per_s"] * window["duration_s"]),
                "busy_frac": str(window["utilization"]),
            }
        )
    return write_study(path, rows, COLUMNS)
