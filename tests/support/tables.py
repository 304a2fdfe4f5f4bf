"""Small studies in memory, for tests of whatever reads tables of trials."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from bayop.space import FREQ_MHZ, RX_USECS
from bayop.study.schema import ASKED, EFFECTIVE
from bayop.testing.fakes import Shape


def study_frame(
    *,
    study: str = "sweep",
    delays: Sequence[float] = (2, 50, 200),
    freqs: Sequence[float] = (1300, 2000, 2900),
    qps: float = 1000.0,
) -> pl.DataFrame:
    """A sweep of the fake server: the default, then every setting."""
    shape = Shape()
    rows: list[dict[str, object]] = []
    for setting in [{}, *({RX_USECS: float(d), FREQ_MHZ: float(f)} for d in delays for f in freqs)]:
        truth = shape.at(setting, qps)
        asked = {ASKED + knob: setting.get(knob) for knob in (RX_USECS, FREQ_MHZ)}
        effective = {EFFECTIVE + knob: setting.get(knob) for knob in (RX_USECS, FREQ_MHZ)}
        measured = {name: truth[name] for name in ("power_w", "p50_us", "p99_us", "utilization")}
        rows.append(
            {"study": study, "trial": len(rows) + 1, "repeat": 0, "target": "twin", "machine": "fake"}
            | {"os": "linux", "app": "memcached", "qps_offered": qps, **asked, **effective, **measured}
        )
    return pl.DataFrame(rows, infer_schema_length=None)
