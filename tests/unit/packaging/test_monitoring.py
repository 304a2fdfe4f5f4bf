"""The rules and the dashboard that are shipped."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.support.needs import need

from bayop.daemon.metrics.scrape import FAMILIES

ROOT = Path(__file__).resolve().parents[3]
RULES = ROOT / "packaging/prometheus/bayop.rules.yml"
TESTS = ROOT / "packaging/prometheus/bayop.rules.test.yml"
DASHBOARD = ROOT / "packaging/grafana/bayop.json"
OF_THE_AGENT = {
    "bayop_energy_joules_total",
    "bayop_hold",
    "bayop_journal_damaged",
    "bayop_knob_drift_total",
    "bayop_knobs_held",
}


def test_every_alert_is_tested_firing_and_silent() -> None:
    need("prometheus")
    run = subprocess.run(["promtool", "test", "rules", TESTS], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    rules, tests = RULES.read_text(encoding="utf-8"), TESTS.read_text(encoding="utf-8")
    alerts = re.findall(r"- alert: (\w+)", rules)
    assert alerts
    for alert in alerts:
        assert re.search(rf"alertname: {alert}}}", tests), f"{alert} is never silent"
        assert re.search(rf"alertname: {alert}\n +exp_alerts", tests), f"{alert} never fires"


def test_the_dashboard_is_what_its_program_makes() -> None:
    run = subprocess.run([sys.executable, DASHBOARD.with_name("dashboard.py")], capture_output=True, check=True)
    assert run.stdout == DASHBOARD.read_bytes(), "python packaging/grafana/dashboard.py > packaging/grafana/bayop.json"


def test_what_they_ask_for_is_served() -> None:
    known = {family.name for family in FAMILIES} | OF_THE_AGENT
    asked = set(re.findall(r"(?<![:\w])bayop_\w+", RULES.read_text(encoding="utf-8")))
    asked |= set(re.findall(r"(?<![:\w])bayop_\w+", DASHBOARD.read_text(encoding="utf-8")))
    assert asked - {"bayop_setting_"} <= known
