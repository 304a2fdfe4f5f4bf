"""Raw traces: what they mean, and what is refused."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.support.needs import need

from bayop.errors import InputError
from bayop.load.curve import LoadCurve
from bayop.load.trace import is_raw, length_s, read_arrivals, read_raw_trace


def raw(tmp_path: Path, times: list[str]) -> Path:
    path = tmp_path / "trace.csv"
    path.write_text("".join(f"{time},key,3,10,1,get,0\n" for time in times))
    return path


def test_whole_hours_are_counted_from_the_first_request(tmp_path: Path) -> None:
    path = raw(tmp_path, ["100", "101", "3699", "3700", "7299", "7300"])
    assert is_raw(path)
    assert read_raw_trace(path) == pytest.approx((3 / 3600, 2 / 3600))
    assert LoadCurve.from_file(path).scaled_to(30.0).hourly_qps == pytest.approx((30.0, 20.0))


def test_a_compressed_trace_is_the_same(tmp_path: Path) -> None:
    need("zstd")
    path = raw(tmp_path, [str(second) for second in range(0, 9000, 2)])
    subprocess.run(["zstd", "-q", str(path)], check=True)
    assert read_raw_trace(path.with_suffix(".csv.zst")) == read_raw_trace(path) == (0.5, 0.5)


def test_requests_of_a_second_are_spread_over_it(tmp_path: Path) -> None:
    assert read_arrivals(raw(tmp_path, ["7", "7", "8", "8", "8", "8"]), 100) == (0.0, 0.5, 1.0, 1.25, 1.5, 1.75)


@pytest.mark.parametrize(
    ("times_s", "whole_s"),
    [((0.0, 0.5, 1.0, 1.25, 1.5, 1.75), 2.1), ((0.0, 1.0, 2.0), 3.0), ((0.0,), 1.0), ((0.0, 0.0), 1.0)],
)
def test_a_trace_lasts_a_mean_gap_longer_than_its_last_request(times_s: tuple[float, ...], whole_s: float) -> None:
    assert length_s(times_s) == pytest.approx(whole_s)


def test_a_trace_without_requests_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the trace is empty"):
        read_arrivals(raw(tmp_path, []), 100)


def test_finer_times_are_kept(tmp_path: Path) -> None:
    assert read_arrivals(raw(tmp_path, ["7", "7", "7.5"]), 100) == (0.0, 0.0, 0.5)
    assert read_arrivals(raw(tmp_path, ["7", "7", "7.5"]), 2) == (0.0, 0.5)


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (["1", "x"], "line 2"),
        (["2", "1"], "not before the last one's"),
        (["nan"], "line 1"),
        (["1", "inf"], "line 2"),
        (["1", "1e12"], "million bins"),
        (["1", "2"], "longer than an hour"),
        ([], "longer than an hour"),
    ],
)
def test_what_is_refused(tmp_path: Path, times: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_raw_trace(raw(tmp_path, times))


def test_damaged_compression_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv.zst"
    path.write_bytes(b"no zstd")
    with pytest.raises(InputError, match=r"cannot read .*trace\.csv\.zst: "):
        read_raw_trace(path)
