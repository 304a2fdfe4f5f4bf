from __future__ import annotations

import math
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from tests.pages.blocks import ROOT
from tests.support.needs import need
from tests.unit.daemon.test_report import HOLD
from tests.unit.daemon.test_services import files

from bayop.control.ledger import LedgerWindow
from bayop.daemon.metrics.exposition import Family, exposition
from bayop.daemon.metrics.scrape import FAMILIES, scrape
from bayop.daemon.metrics.tally import Tally
from bayop.daemon.report import Reporter
from bayop.daemon.savings.account import Saved
from bayop.daemon.standing import Standing
from bayop.errors import BayopError, DriftError
from bayop.live.agent.transport import UnreachableError
from bayop.slo import Slo
from bayop.space import Setting
from bayop.state.store import Store
from bayop.switchback import HeldSaving

SAVED = Saved(0.0, 9.0, 9.0, 0.0, HeldSaving(12.5, -math.inf, 15.0, 120.0, 1), None, None, None)
"""What one switchback says: no interval yet, below."""


def standing(tmp_path: Path, last: LedgerWindow | None = HOLD) -> Standing:
    (file,) = files(tmp_path, "web", more="[service.web.budget]\nrequests_over = 0.001\n")
    setting: Setting = {"power.cap_w": 90, "nic.rx_usecs@eth0": 50, "cpu.freq_mhz": 2100, "cpu.epp": "x"}
    in_effect = None if last is None else setting
    paused_by = ("operator",)
    return Standing(
        file, "hold", in_effect, last, 0.25, None, None, paused_by, restored=False, trouble=None, saved=SAVED
    )


def told(standing: Standing, tally: Tally) -> list[str]:
    return scrape([standing], tally, version="1", cpu_s=1.5).decode().splitlines()


@pytest.fixture
def tally(tmp_path: Path) -> Tally:
    """What is counted of two windows, a search's end and some trouble."""
    tally = Tally()
    with Store(tmp_path / "bayop.db") as store:
        reporter = Reporter(store, lambda: 1e9, lambda _: None, tally.hear)
        slo = Slo.parse("p99<500us")
        reporter.window("web", slo, HOLD)
        reporter.window("web", slo, replace(HOLD, phase="trial", meets_slo=False, over_share=0.1, power_w=None))
        reporter.say("fell-back", "", service="web", condition="silence", why="nobody speaks")
        for error in (BayopError(wrong="it is broken"), UnreachableError(wrong="gone"), DriftError(wrong="drifted")):
            reporter.trouble("web", error, 1.0)
        reporter.say("page", "the page is there", url="")
    return tally


def test_standings_are_in_base_units(tmp_path: Path) -> None:
    lines = told(standing(tmp_path), Tally())
    for line in (
        'bayop_build_info{version="1"} 1',
        "process_cpu_seconds_total 1.5",
        'bayop_mode{service="web",mode="observe"} 1',
        'bayop_mode{service="web",mode="apply"} 0',
        'bayop_phase{service="web",phase="hold"} 1',
        'bayop_phase{service="web",phase="trial"} 0',
        'bayop_paused{service="web",by="operator"} 1',
        'bayop_halted{service="web",why="quiet"} 0',
        'bayop_restored{service="web"} 0',
        'bayop_slo_limit_seconds{service="web",slo_quantile="0.99"} 0.0005',
        'bayop_error_budget_allowed_ratio{service="web"} 0.001',
        'bayop_error_budget_left_ratio{service="web"} 0.25',
        'bayop_window_latency_seconds{service="web",slo_quantile="0.99"} 0.000178',
        'bayop_slo_margin_ratio{service="web"} 0.644',
        'bayop_setting_watts{service="web",knob="power.cap_w"} 90',
        'bayop_setting_seconds{service="web",knob="nic.rx_usecs@eth0"} 5e-05',
        'bayop_setting_hertz{service="web",knob="cpu.freq_mhz"} 2100000000',
        'bayop_setting_info{service="web",knob="cpu.epp",value="x"} 1',
        'bayop_saving_watts{service="web"} 12.5',
        'bayop_saving_high_watts{service="web"} 15',
    ):
        assert line in lines, "\n".join(lines)


def test_what_is_not_known_is_a_gap(tmp_path: Path) -> None:
    text = "\n".join(told(replace(standing(tmp_path, None), budget_left=None), Tally()))
    for name in (
        "bayop_window_latency_seconds",
        "bayop_window_power_watts",
        "bayop_setting",
        "budget_left",
        "_end_",
        "saving_low",
    ):
        assert name not in text


def test_what_happens_is_counted(tmp_path: Path, tally: Tally) -> None:
    lines = told(replace(standing(tmp_path), trouble="drifted"), tally)
    for line in (
        'bayop_windows_total{service="web",phase="hold"} 1',
        'bayop_windows_total{service="web",phase="default"} 0',
        'bayop_windows_over_slo_total{service="web",phase="trial"} 1',
        'bayop_slo_violation_seconds_total{service="web",phase="trial"} 60',
        'bayop_requests_total{service="web",phase="hold"} 300000',
        'bayop_requests_over_slo_total{service="web",phase="trial"} 30000',
        'bayop_window_energy_joules_total{service="web",phase="hold"} 5407.41',
        'bayop_window_energy_joules_total{service="web",phase="trial"} 0',
        'bayop_fallbacks_total{service="web",reason="silence"} 1',
        'bayop_fallbacks_total{service="web",reason="latency"} 0',
        'bayop_troubles_total{service="web",cause="agent"} 1',
        'bayop_troubles_total{service="web",cause="other"} 1',
        'bayop_trouble{service="web",cause="drift"} 1',
        'bayop_trouble{service="web",cause="agent"} 0',
        'bayop_window_end_timestamp_seconds{service="web"} 1000000060',
        'bayop_searches_total{service="web"} 0',
    ):
        assert line in lines, "\n".join(lines)


def test_promtool_finds_nothing_to_say_of_it(tmp_path: Path, tally: Tally) -> None:
    need("prometheus")
    text = scrape([standing(tmp_path)], tally, version="1", cpu_s=1.5)
    run = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, b"", b"")


def test_a_name_can_not_forge_a_label_or_a_sample() -> None:
    family = Family("bayop_x", "gauge", ("knob",), "X")
    text = exposition([family.at(1, 'a"} 1\nforged{a="\\')]).decode()
    assert text.splitlines()[2:] == [r'bayop_x{knob="a\"} 1\nforged{a=\"\\"} 1']


def test_the_page_lists_every_metric() -> None:
    rows = [f"| `{f.name}` | {f.kind} | {', '.join(f'`{label}`' for label in f.labels)} | {f.says} |" for f in FAMILIES]
    page = (ROOT / "docs/monitoring.md").read_text(encoding="utf-8")
    missing = [row for row in rows if row not in page]
    assert not missing, "\n".join(missing)
