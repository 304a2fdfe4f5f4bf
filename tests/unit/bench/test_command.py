from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from bench.command import collect, count, flags_of
from bench.results import tell_summary

from bayop.errors import UnsupportedError


@dataclass(frozen=True, slots=True)
class Row:
    number: int


def run(*argv: str, as_it_goes: bool = False) -> int:
    flags = flags_of("bench.some.run", "Counts.", examples="examples: none")
    flags.add_argument("--most", type=int, default=3)

    def measure(args: argparse.Namespace) -> Iterator[Row]:
        yield Row(1)
        if args.most < 2:
            raise UnsupportedError(wrong="this machine can't count further")
        yield Row(2)

    return collect(
        "bench.some.run",
        flags,
        argv,
        measure,
        say=str,
        table=lambda rows: f"{len(rows)} rows\n",
        as_it_goes=as_it_goes,
    )


def test_results_are_written_and_the_summary_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--out", str(tmp_path)) == 0
    assert (tmp_path / "raw.csv").read_text(encoding="utf-8").split() == ["number", "1", "2"]
    environment = json.loads((tmp_path / "env.json").read_text(encoding="utf-8"))
    assert environment["command"] == ["python", "-m", "bench.some.run", "--out", str(tmp_path)]
    assert capsys.readouterr().out == (tmp_path / "summary.md").read_text(encoding="utf-8") == "2 rows\n"


def test_what_ends_early_is_an_error_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--most", "1", "--out", str(tmp_path)) == UnsupportedError.exit_code
    assert capsys.readouterr().err == "Row(number=1)\nerror: this machine can't count further\n"
    assert not list(tmp_path.iterdir())


def test_what_is_written_as_it_goes_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--most", "1", "--out", str(tmp_path), as_it_goes=True) == UnsupportedError.exit_code
    assert (tmp_path / "raw.csv").read_text(encoding="utf-8").split() == ["number", "1"]
    assert (tmp_path / "summary.md").read_text(encoding="utf-8") == "1 rows\n"
    assert capsys.readouterr().out == ""


def test_a_summary_is_printed_and_written_where_it_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tell_summary("bench.some.run", {"rows": 2}, None) is None
    folder = tell_summary("bench.some.run", {"rows": 2}, tmp_path)
    assert folder is not None
    assert {file.name for file in folder.iterdir()} == {"env.json", "summary.json"}
    assert capsys.readouterr().out == 2 * (folder / "summary.json").read_text(encoding="utf-8")


def test_a_count_is_at_least_one(capsys: pytest.CaptureFixture[str]) -> None:
    flags = flags_of("bench.some.run", "Counts.")
    flags.add_argument("--rounds", type=count)
    assert flags.parse_args(["--rounds", "1"]).rounds == 1
    for wrong, message in (("0", "must be at least 1, not 0"), ("few", "invalid count value: 'few'")):
        with pytest.raises(SystemExit) as ended:
            flags.parse_args(["--rounds", wrong])
        assert ended.value.code == 2
        assert f"argument --rounds: {message}" in capsys.readouterr().err
