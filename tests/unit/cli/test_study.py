from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.support.tables import study_frame

from bayop.cli import main
from bayop.cli.study.page import page
from bayop.study import open_study, write_study

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    path = tmp_path / "sweep.parquet"
    suspect = pl.Series([None, "itr_mislabelled", *[None] * 8])
    write_study(study_frame().with_columns(suspect=suspect), path)
    return path


def run(*argv: object) -> int:
    return main(["study", *map(str, argv)])


def json_lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    captured = capsys.readouterr()
    assert captured.err == ""
    return [json.loads(line) for line in captured.out.splitlines()]


def refusal(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    assert not captured.out or json.loads(captured.out)["event"] == "error"
    assert captured.err.startswith("error: ")
    assert len(captured.err.splitlines()) <= 2
    return captured.err


def test_show_says_what_a_study_holds(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", sweep, "--json") == 0
    campaign, *quantities = json_lines(capsys)
    assert campaign == {
        "event": "campaign",
        "study": "sweep",
        "target": "twin",
        "machine": "fake",
        "os": "linux",
        "app": "memcached",
        "trials": 10,
        "qps_offered": [1000.0],
        "settings": 9,
        "default_trials": 1,
        "repeats": {"least": 1, "most": 1},
        "knobs": {"cpu.freq_mhz": [1300.0, 2900.0], "nic.rx_usecs": [2.0, 200.0]},
        "not_trusted": {"itr_mislabelled": 1},
    }
    assert [q["quantity"] for q in quantities] == ["p50_us", "p99_us", "power_w", "utilization"]
    assert all(q["trials"] == 9 and q["least"] <= q["median"] <= q["greatest"] for q in quantities)


def test_show_speaks_to_people(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", sweep) == 0
    out = capsys.readouterr().out
    for text in ("1,000 requests/s", "2us to 200us", "10, 1 of the default", "1 trials: itr_mislabelled", "p99_us"):
        assert text in out


@pytest.mark.parametrize(
    ("name", "loads"),
    [
        ("study_memcached.csv", {"qps_offered": [200_000.0, 600_000.0]}),
        ("study_netpipe.csv", {"message_bytes": [64, 65536, 524288]}),
    ],
)
def test_show_reads_published_tables(
    data: Path, name: str, loads: dict[str, list[float]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("show", data / name, "--json") == 0
    campaigns = [line for line in json_lines(capsys) if line["event"] == "campaign"]
    assert [campaign["os"] for campaign in campaigns] == ["ebbrt", "linux"]
    for campaign in campaigns:
        assert {key: campaign[key] for key in loads} == loads


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_export_imports_and_changes_the_format(
    data: Path, tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / f"silo{suffix}"
    assert run("export", data / "study_silo.csv", "--out", out, "--json") == 0
    assert json_lines(capsys) == [{"event": "written", "path": str(out), "trials": 1285, "columns": 43}]
    assert open_study(out).equals(open_study(data / "study_silo.csv"))


def test_export_leaves_out_what_is_not_trusted(sweep: Path, tmp_path: Path) -> None:
    assert run("export", sweep, "--trusted", "--out", tmp_path / "a.csv") == 0
    assert open_study(tmp_path / "a.csv").height == 9


@pytest.mark.parametrize("action", ["export", "merge", "import"])
def test_nothing_is_overwritten(sweep: Path, action: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Least of all the source."""
    before = sweep.read_bytes()
    assert run(action, sweep, "--out", sweep) == 2
    assert f"{sweep} is there already; a file must not be overwritten (--out)\nhint: --out FILE" in refusal(capsys)
    assert sweep.read_bytes() == before


def test_merge_joins_files_of_any_format(data: Path, sweep: Path, tmp_path: Path) -> None:
    out = tmp_path / "all.parquet"
    assert run("merge", sweep, data / "study_silo.csv", sweep, "--out", out) == 0
    assert open_study(out).height == 10 + 1285


def test_merge_refuses_a_conflict_and_names_the_files(
    sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.csv"
    write_study(study_frame().with_columns(pl.col("power_w") + 1), other)
    assert run("merge", sweep, other, "--out", tmp_path / "all.csv") == 2
    error = refusal(capsys)
    assert str(sweep) in error
    assert "different power_w in trial 1 of sweep" in error
    assert not (tmp_path / "all.csv").exists()


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["show", "no.csv"], "cannot read no.csv: no such file"),
        (["show", ""], "cannot use '': a path must not be empty (the study)"),
        (["export", "{sweep}", "--out", "{folder}/a.txt"], "as .parquet, .csv or .csv.gz (--out)"),
        (
            ["export", "{sweep}", "--out", "{folder}/no/a.csv"],
            "cannot write {folder}/no/a.csv: there is no folder {folder}/no (--out)",
        ),
        (
            ["export", "no.csv", "--out", "/etc/passwd/x.parquet"],
            "cannot write /etc/passwd/x.parquet: there is no folder /etc/passwd (--out)",
        ),
        (["merge", "--out", "a.csv"], "arguments are required: FILE"),
        (["columns", "--markdown", "--json"], "--markdown and --json were both given"),
    ],
)
def test_bad_usage_is_one_clear_error(
    sweep: Path, argv: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*(arg.format(sweep=sweep, folder=sweep.parent) for arg in argv)) == 2
    assert message.format(folder=sweep.parent) in refusal(capsys)


def test_columns_lists_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("columns", "--json") == 0
    columns = {line["column"]: line for line in json_lines(capsys)}
    assert columns["power_w"] == {
        "event": "column", "column": "power_w", "kind": "number", "unit": "W", "meaning": "mean power",
        "required": False, "measured": True,
    }  # fmt: skip
    assert run("columns") == 0
    assert "asked.nic.rx_usecs" in capsys.readouterr().out


def test_the_reference_page_is_not_stale() -> None:
    committed = (ROOT / "docs" / "reference" / "study-columns.md").read_text(encoding="utf-8")
    assert committed == page(), "run: bayop study columns --markdown > docs/reference/study-columns.md"
