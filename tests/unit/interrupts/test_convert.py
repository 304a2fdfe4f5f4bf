from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.interrupt_logs import LINES, PUBLISHED_HEADER, drawn_lines, state_of, write_lines

from bayop.errors import InputError
from bayop.interrupts.convert import convert
from bayop.interrupts.log import open_log
from bayop.interrupts.query import summarise


@pytest.mark.parametrize("kind", ["intlog", "published"])
def test_a_converted_log_says_the_same(tmp_path: Path, data: Path, kind: str) -> None:
    random_log = write_lines(tmp_path / "log", drawn_lines(400, seed=3))
    path = random_log if kind == "intlog" else data / "interrupts_netpipe_linux_default_64B.csv.gz"
    out = tmp_path / "log.parquet"
    before = summarise(open_log(path))
    assert convert(open_log(path), out) == before.records
    converted = open_log(out)
    assert converted.layout == before.layout
    assert state_of(summarise(converted)) == state_of(before)


def test_a_bad_log_leaves_no_file_behind(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log", [*LINES, "nonsense"])
    with pytest.raises(InputError, match="line 7"):
        convert(open_log(path), tmp_path / "out.parquet")
    assert [p.name for p in tmp_path.iterdir()] == ["log"]
    with pytest.raises(
        InputError,
        match=r"cannot write .*out",
    ):
        convert(open_log(write_lines(path, LINES)), tmp_path / "none" / "out.parquet")


def test_a_log_without_records_is_refused_and_leaves_no_file_behind(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log", [PUBLISHED_HEADER])
    with pytest.raises(InputError, match="the log is empty") as caught:
        convert(open_log(path), tmp_path / "out.parquet")
    assert caught.value.place == f"{path}, line 1"
    assert [p.name for p in tmp_path.iterdir()] == ["log"]
