from __future__ import annotations

import pytest

from bayop.control.ledger import LedgerWindow
from bayop.experiments.day.record import RunRecord
from bayop.papers.claims.days import hourly_energy_j
from bayop.units import HOUR_S


def window(start_s: float, duration_s: float, power_w: float) -> LedgerWindow:
    return LedgerWindow(start_s, duration_s, "hold", None, 1000.0, power_w, 100.0, 0.0, meets_slo=True)


def test_a_window_that_crosses_the_hour_is_divided() -> None:
    windows = (window(0.0, 1.5 * HOUR_S, 10.0), window(1.5 * HOUR_S, 22.5 * HOUR_S, 20.0))
    energy = hourly_energy_j(RunRecord("r", "R", "linux", "search", windows))
    assert len(energy) == 24
    assert energy[0] == pytest.approx(10.0 * HOUR_S)
    assert energy[1] == pytest.approx(15.0 * HOUR_S)
    assert energy[2:] == pytest.approx([20.0 * HOUR_S] * 22)
    assert sum(energy) == pytest.approx(sum((w.power_w or 0.0) * w.duration_s for w in windows))
