from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bayop.control.ledger import LedgerWindow
from bayop.control.week import Coming
from bayop.daemon.file import DaemonFile
from bayop.daemon.forecast import Forecast
from bayop.state.store import Store

TEXT = """
[service.web]
agent = "unix:/run/bayop/agent.sock"
latency = "sh p99.sh"
slo = "p99<200us"
[service.web.policy]
triggers = "load,breach,schedule"
"""
HOUR_S, DAY_S = 3600.0, 86_400.0
WINDOW = LedgerWindow(0.0, HOUR_S, "hold", {"power.cap_w": 90}, 1.0, 90.0, 150.0, 0.0, meets_slo=True)


def test_the_windows_of_some_days_foretell_the_next_hour(tmp_path: Path) -> None:
    path = tmp_path / "bayop.toml"
    path.write_text(TEXT, encoding="utf-8")
    (file,) = DaemonFile.read(path).services
    assert file.schedule
    with Store(tmp_path / "bayop.db") as store:
        forecast = Forecast(file, store)
        for hour in range(3 * 24):
            qps = 9000.0 if hour % 24 == 9 else 3000.0
            store.add_window("web", replace(WINDOW, start_s=hour * HOUR_S, qps=qps))
        nine_s = 3 * DAY_S + 9 * HOUR_S
        assert forecast(nine_s - 1800) is None, "it is not soon"
        assert forecast(nine_s - 300) == Coming(9000.0, nine_s + HOUR_S)
        slow = Forecast(replace(file, watch_s=900.0), store)
        assert slow(nine_s - 1800) == Coming(9000.0, nine_s + HOUR_S), "two windows, where these are long"
