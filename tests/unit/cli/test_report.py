from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from tests.support.tables import study_frame

from bayop.cli import main
from bayop.study import write_study


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    path = tmp_path / "sweep.parquet"
    write_study(study_frame(), path)
    return path


def test_json_has_fronts_best_settings_and_savings(
    sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(sweep), "--slo", "p99<1ms", "--out", str(tmp_path / "out"), "--json"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [e for e, _ in _runs(events)] == ["start", "front", "best", "saving", "knobs", "result"]
    assert events[0]["trials"] == 10
    best = next(e for e in events if e["event"] == "best")
    assert best["setting"].keys() == {"nic.rx_usecs", "cpu.freq_mhz"}
    saving = [e for e in events if e["event"] == "saving"][-1]
    assert saving["under"] == "p99<1ms"
    assert saving["savings"]["power_w"]["value"] == pytest.approx(1 - best["power_w"] / _default_power(), abs=1e-5)
    assert Path(events[-1]["report"]).exists()


def _runs(events: list[dict[str, object]]) -> list[tuple[object, int]]:
    runs: list[tuple[object, int]] = []
    for event in events:
        if not runs or runs[-1][0] != event["event"]:
            runs.append((event["event"], 1))
    return runs


def _default_power() -> float:
    return float(study_frame()["power_w"][0])


def test_people_get_a_table_and_a_page(sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(sweep), "--slo", "p99<1ms", "--out", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    assert "memcached, 1K requests/s" in shown
    assert "report.html" in shown


def test_several_studies_become_one_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = []
    for name, qps in (("a", 1000.0), ("b", 2000.0)):
        paths.append(tmp_path / f"{name}.csv")
        write_study(study_frame(study=name, qps=qps), paths[-1])
    assert main(["report", *map(str, paths), "--slo", "p99<1ms", "--out", str(tmp_path / "out"), "--json"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {e["qps_offered"] for e in events if e["event"] == "best"} == {1000.0, 2000.0}


def test_nothing_meets_the_slo(sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(sweep), "--slo", "p99<1us", "--out", str(tmp_path / "out")]) == 1
    assert "no setting meets p99<1us" in capsys.readouterr().out


def test_an_unmeasured_quantile_is_a_clear_error(
    sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(sweep), "--slo", "p90<1ms", "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert "p90_us" in said
    assert str(sweep) in said
    assert not (tmp_path / "out").exists()


def test_without_repeats_nothing_is_claimed_of_the_noise(
    sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["report", str(sweep), "--slo", "p99<1ms", "--out", str(tmp_path / "out")]
    assert main(words) == 0
    assert "without repeats there are no confidence intervals" in capsys.readouterr().out
    assert main([*words, "--json"]) == 0
    best = next(e for e in map(json.loads, capsys.readouterr().out.splitlines()) if e["event"] == "best")
    assert (best["meets"], best["rivals"]) == (None, None)


def test_machines_are_told_apart_with_and_without_a_default(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frames = [study_frame(study=machine).with_columns(machine=pl.lit(machine)) for machine in ("box", "box2")]
    study, path = pl.concat(frames), tmp_path / "sweep.csv"
    for rows, saved in ((study, "%"), (study.filter(pl.col("trial") > 1), "no default")):
        write_study(rows, path)
        assert main(["report", str(path), "--slo", "p99<1ms", "--out", str(tmp_path / "out")]) == 0
        lines = capsys.readouterr().out.splitlines()
        for machine in ("box", "box2"):
            (line, *_) = [line for line in lines if line.startswith(f" {machine} ") and "p99<1ms" in line]
            assert saved in line


def test_a_file_that_is_no_study_is_a_clear_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "notes.csv"
    pl.DataFrame({"a": [1]}).write_csv(path)
    assert main(["report", str(path), "--out", str(tmp_path / "out")]) == 2
    assert "error:" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
