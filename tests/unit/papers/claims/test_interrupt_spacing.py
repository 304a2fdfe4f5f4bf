from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from bayop.papers.claims.claim import Verdict
from bayop.papers.claims.evidence import Evidence
from bayop.papers.claims.interrupt_spacing import CLAIMS

FILES = {
    "dynamic_64_B": "interrupts_netpipe_linux_default_64B.csv.gz",
    "dynamic_8_KB": "interrupts_netpipe_linux_default_8192B.csv.gz",
    "fixed_8_KB": "interrupts_netpipe_linux_static_8192B_itr8us_2500MHz.csv.gz",
}


def test_the_spacing_of_each_log_is_that_of_its_times(data: Path) -> None:
    finding = CLAIMS[0].examine(Evidence(data, seed=1, threads=1))
    assert set(finding.data) == {f"{name}_{what}" for name in FILES for what in ("median_us", "variation_share")}
    for name, file in FILES.items():
        gaps_us = np.diff(pl.read_csv(data / file, infer_schema_length=None)["time_us"].to_numpy())
        assert finding.data[f"{name}_median_us"] == pytest.approx(np.median(gaps_us), rel=0.01)
        assert finding.data[f"{name}_variation_share"] == pytest.approx(gaps_us.std() / gaps_us.mean(), rel=0.01)


def test_the_dynamic_policy_follows_the_message_and_is_no_less_regular(data: Path) -> None:
    """What the verdict says in words."""
    finding = CLAIMS[0].examine(Evidence(data, seed=1, threads=1))
    assert finding.verdict is Verdict.PARTLY
    assert finding.data["dynamic_8_KB_median_us"] > 5.0 * finding.data["dynamic_64_B_median_us"]
    assert finding.data["dynamic_8_KB_variation_share"] < finding.data["fixed_8_KB_variation_share"]
