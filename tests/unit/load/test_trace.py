from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayop.errors import InputError
from bayop.load.curve import LoadCurve
from bayop.load.trace import read_trace


def write(folder: Path, text: str) -> Path:
    path = folder / "trace.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_mean_load_is_read_or_counted(tmp_path: Path) -> None:
    assert read_trace(write(tmp_path, "hour,qps_mean\n5,10\n6,20.5\n")) == (10.0, 20.5)
    assert read_trace(write(tmp_path, "hour,requests\n0,36000\n")) == (10.0,)
    assert read_trace(write(tmp_path, "hour,requests,qps_mean\n0,36001,10\n")) == (10.0,)


@pytest.mark.parametrize(
    ("text", "rule", "place"),
    [
        ("", "columns hour and qps_mean", "line 1"),
        ("hour,load\n0,1\n", "columns hour and qps_mean", "line 1"),
        ("hour,qps_mean\n", "at least one hour", "trace.csv"),
        ("hour,qps_mean\n0,1\n1,nan\n", "finite", "line 3, column qps_mean"),
        ("hour,qps_mean\n0,many\n", "finite", "line 2, column qps_mean"),
        ("hour,qps_mean\n0,-5\n", "positive", "line 2, column qps_mean"),
        ("hour,qps_mean\n0,1e12\n", "at most", "line 2, column qps_mean"),
        ("hour,qps_mean\n0,1\n2,1\n", "without a gap", "line 3, column hour"),
        ("hour,qps_mean\n0,1\n0,1\n", "without a gap", "line 3, column hour"),
        ("hour,qps_mean\n0,1,9\n", "as many cells", "line 2"),
        ("hour,qps_mean\n0\n", "as many cells", "line 2"),
        ("hour,requests,qps_mean\n0,36000,10000\n", "requests / 3600", "line 2, column qps_mean"),
        ('hour,qps_mean\n0,"1\n', "CSV", "trace.csv"),
    ],
)
def test_a_bad_trace_is_refused_with_its_place(tmp_path: Path, text: str, rule: str, place: str) -> None:
    with pytest.raises(InputError, match=rule) as error:
        read_trace(write(tmp_path, text))
    assert error.value.place is not None
    assert place in error.value.place


def test_a_file_that_is_not_there_or_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*none\.csv: no such file"):
        read_trace(tmp_path / "none.csv")
    (tmp_path / "bytes.csv").write_bytes(b"hour,qps_mean\n\xff\xfe,1\n")
    with pytest.raises(InputError, match="UTF-8"):
        read_trace(tmp_path / "bytes.csv")


@given(st.text(max_size=80))
def test_any_text_is_a_trace_or_an_input_error(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("trace") / "any.csv"
    path.write_bytes(("hour,qps_mean\n" + text).encode("utf-8", "replace"))
    try:
        loads = read_trace(path)
    except InputError:
        return
    assert all(load > 0 for load in loads)


def test_what_never_ends_is_no_load_curve(tmp_path: Path) -> None:
    for name in ("curve.csv", "curve.zst"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(InputError, match=f"cannot read {tmp_path / name}: it is no regular file"):
            LoadCurve.from_file(tmp_path / name)
