"""The bare server of `bare.toml`, loads for it, and the laws of quantities that every window shows."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from bayop import _core
from bayop.space import FREQ_MHZ, RX_USECS
from bayop.twin.profile_library import load_profile

from .law import EXACT_BAR, MEAN_BAR, P99_BAR, Law, Read

_BARE: Final = load_profile(str(Path(__file__).with_name("bare.toml")))


def server(values: Mapping[str, float | str] | None = None, /, *, cores: int = 1, **app: float | str) -> _core.Profile:
    """The bare server with some values: by dotted key, and those of `[app]` by name."""
    return _BARE.with_values({**(values or {}), "machine.cores": cores, **{f"app.{k}": v for k, v in app.items()}})


def rewritten(profile: _core.Profile, key: str, value: str) -> _core.Profile:
    """A profile with another switch or list, by the last word of its key and as TOML spells it."""
    text, count = re.subn(rf"^{key} = (\[[^]]*\]|.*)$", f"{key} = {value}", profile.to_toml(), flags=re.MULTILINE)
    assert count == 1, f"{key} is there {count} times"
    return _core.Profile(text)


def load(
    qps: float,
    *,
    requests: int | None = None,
    duration_s: float | None = None,
    warmup_s: float | None = None,
    rx_usecs: float | None = None,
    freq_mhz: float | None = 1000.0,
) -> _core.Run:
    """A window; at 1000 MHz, the least, a kilocycle takes a microsecond. None leaves the frequency to the governor."""
    knobs = {RX_USECS: rx_usecs, FREQ_MHZ: freq_mhz}
    setting = {knob: value for knob, value in knobs.items() if value is not None}
    return {"qps": qps, "requests": requests, "duration_s": duration_s, "warmup_s": warmup_s, "setting": setting}


def mean_of(key: str) -> Read:
    """A quantity's mean over the windows of a seed; no number where a window does not show it."""
    return lambda windows: statistics.fmean(number(window, key) for window in windows)


def number(window: _core.Measurement, key: str) -> float:
    """One quantity of a window; not a number when no request was completed."""
    value = window.get(key)
    return float(value) if isinstance(value, int | float) else math.nan


def law(quantity: str, key: str, theory: float, *, bar: float = MEAN_BAR) -> Law:
    """A quantity that windows show under a key, averaged over windows and seeds."""
    return Law(quantity=quantity, theory=theory, read=mean_of(key), bar=bar)


def mean(theory: float) -> Law:
    """The mean latency."""
    return law("mean, us", "mean_us", theory)


def p99(theory: float) -> Law:
    """The 99th percentile."""
    return law("p99, us", "p99_us", theory, bar=P99_BAR)


def exact(
    quantity: str, theory: float, of_window: Callable[[_core.Measurement], float], *, bar: float = EXACT_BAR
) -> Law:
    """What holds in every window; a seed shows its worst."""

    def worst(windows: Sequence[_core.Measurement]) -> float:
        return max(map(of_window, windows), key=lambda value: abs(value - theory))

    return Law(quantity=quantity, theory=theory, read=worst, bar=bar, exact=True)
