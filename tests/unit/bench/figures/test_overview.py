from __future__ import annotations

import re

from bench.figures import overview
from tests.pages.blocks import ROOT

from bayop.space import FREQ_MHZ, RX_USECS


def test_the_picture_is_of_the_search_that_the_readme_shows() -> None:
    target, result = overview.search()
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    _, _, shown = readme.partition(f"$ {overview.COMMAND}\n")
    rows = re.findall(r"^ +\d+ +(\d+)us +(\d+)MHz +([\d.]+) W +(\d+)us ", shown.partition("```")[0], re.MULTILINE)
    trials = [(trial.setting[RX_USECS], trial.setting[FREQ_MHZ], trial.measurement) for trial in result.trials]
    assert rows == [(f"{us}", f"{mhz}", f"{m['power_w']:.1f}", f"{m['p99_us']:.0f}") for us, mhz, m in trials]
    assert result.setting is not None
    power_w = target.truth(result.setting)["power_w"]
    assert "search in eight trials" in readme
    assert len(trials) == 8
    assert f"ends at {result.setting[RX_USECS]} us and 1.7 GHz, with {power_w:.0f} W" in readme.replace("\n  ", " ")
    assert result.setting[FREQ_MHZ] == 1700
