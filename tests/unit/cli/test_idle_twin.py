"""The actions of `bayop idle` that play on the twin."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from bayop.cli import main

CORES = ["idle", "cores", "--loads", "5k,40k", "--requests", "1000"]
DAY = ["idle", "day", "hourly.csv", "--requests", "300"]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("hourly.csv").write_text("hour,qps_mean\n0,1000\n1,2000\n")


def json_lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_programs_get_each_core_s_shares_at_each_load(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*CORES, "--json"]) == 0
    rows = json_lines(capsys)
    assert [(row["qps_offered"], row["balancer"]) for row in rows] == [
        (5e3, "none"), (5e3, "yawn"), (40e3, "none"), (40e3, "yawn")
    ]  # fmt: skip
    residency = rows[0]["residency"]
    assert isinstance(residency, dict)
    assert list(residency) == ["POLL", "C1", "C1E", "C3", "C6"]
    assert len(residency["C6"]) == 6


def test_people_get_tables_and_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*CORES, "--out", "figures"]) == 0
    assert main([*DAY, "--out", "figures"]) == 0
    printed = capsys.readouterr().out
    assert "40K" in printed
    assert "bayop, balancer" in printed
    names = {f"idle-{what}.{ending}" for what in ("cores", "day") for ending in ("svg", "png")}
    assert {path.name for path in Path("figures").iterdir()} == names


def test_overload_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["idle", "cores", "--loads", "5k,2M", "--requests", "1000"]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "Overloaded at 2M: less is served than offered." in printed
    assert re.search(r"requests/s +served +balancer", printed)
    assert main([*words, "--json"]) == 0
    calm, _, over, _ = json_lines(capsys)
    assert (calm["overloaded"], over["overloaded"]) == (False, True)
    assert float(str(over["qps_served"])) < 1e6 < float(str(over["qps_offered"]))


def test_the_hours_of_a_day_that_the_server_can_t_serve_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*DAY, "--slo", "p99<1s"]) == 0
    assert "Overloaded" not in capsys.readouterr().out
    overload = [*DAY, "--peak", "2M", "--slo", "p99<1s"]
    assert main(overload) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert re.search(
        r"Overloaded under menu for 100.0% of the time: [0-9.]+[KM] of [12]M requests/s were served", printed
    )
    assert main([*overload, "--json"]) == 0
    rows = json_lines(capsys)
    assert all(row["overloaded"] for row in rows if row["event"] == "window")
    assert all(row["overloaded_share"] == 1.0 for row in rows if row["event"] == "total")


def test_a_server_that_can_have_no_balancer_is_refused_by_its_own_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*CORES, "--profile", "ebbrt-memcached"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: this server can't have the balancer that is compared here; a wake balancer must")
    assert "(--profile)\nhint: such as linux-memcached" in said


def test_a_curve_is_scaled_to_its_peak_and_summed_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*DAY, "--peak", "40k", "--json"]) == 0
    rows = json_lines(capsys)
    windows = [row for row in rows if row["event"] == "window"]
    totals = [row for row in rows if row["event"] == "total"]
    assert [(row["start_s"], row["qps_offered"]) for row in windows if row["policy"] == "menu"] == [
        (0.0, 20e3), (3600.0, 40e3)
    ]  # fmt: skip
    assert [row["policy"] for row in totals] == ["menu", "off", "yawn, balancer", "bayop, balancer"]
    assert all(row["published"] is None and row["duration_s"] == 7200.0 for row in totals)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cores", "--loads", "5k,5k"], "cannot use '5k,5k': each load must be named once (--loads)"),
        (["cores", "--idle-governor", "doze"], "cannot use 'doze'"),
        (["cores", "--profile", "linux-netpipe"], "a wake balancer must have "),
        (["day", "monday"], "a load curve must be a built-in name or a file (CURVE)"),
        (["day", "--slo", "p97<1ms"], "the twin does not measure p97_us (--slo)"),
        (["day", "--profile", "ebbrt-memcached"], "a wake balancer must have "),
    ],
)
def test_bad_words_are_refused(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["idle", *words]) == 2
    assert message in capsys.readouterr().err


def test_a_published_trace_keeps_its_rates(capsys: pytest.CaptureFixture[str]) -> None:
    header = "governor,minute,qps_offered,avg_us,p99_us,power_w,power_median_w\n"
    Path("trace.csv").write_text(f"{header}menu,1,5000,110,212.5,54.4,54.4\n")
    assert main(["idle", "day", "trace.csv", "--peak", "9k"]) == 2
    assert "a published trace must be played at its own rates (--peak)" in capsys.readouterr().err
    assert main(["idle", "day", "trace.csv", "--requests", "300"]) == 0
    assert "(212)" in capsys.readouterr().out
