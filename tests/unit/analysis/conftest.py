from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from tests.support.tables import study_frame

Repeated = Callable[..., pl.DataFrame]


@pytest.fixture
def repeated() -> Repeated:
    """A sweep of the fake server, every setting a few times, with log-normal noise."""

    def make(*, repeats: int = 3, sd: float = 0.02, seed: int = 0) -> pl.DataFrame:
        rng = np.random.default_rng(seed)
        frames = []
        for i in range(repeats):
            frame = study_frame()
            noise = [
                pl.col(q) * pl.Series(np.exp(sd * rng.standard_normal(frame.height))) for q in ("power_w", "p99_us")
            ]
            frames.append(frame.with_columns(*noise, repeat=pl.lit(i)))
        return pl.concat(frames)

    return make
