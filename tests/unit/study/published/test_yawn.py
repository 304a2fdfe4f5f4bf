from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from bayop.errors import InputError
from bayop.study import open_study


def test_the_idle_governor_that_linux_has_by_itself_is_the_default(data: Path) -> None:
    frame = open_study(data / "yawn_trace_by_minute.csv")
    counts = frame.group_by("asked.idle.governor", "asked.idle.disable").len().sort(pl.all()).rows()
    assert counts == [(None, None, 90), (None, "on", 90), ("yawn", None, 90)]


def small(path: Path, *, governor: str = "menu", avg_us: str = "50") -> Path:
    header = "governor,minute,qps_offered,avg_us,p99_us,power_w,power_median_w"
    path.write_text(f"{header}\n{governor},0,1000,{avg_us},200,55,54\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("governor", "asked", "disabled", "effective"),
    [("menu", None, None, "menu"), ("yawn", "yawn", None, "yawn"), ("off", None, "on", None)],
)
def test_a_governor_is_what_was_asked_of_linux(
    tmp_path: Path, governor: str, asked: str | None, disabled: str | None, effective: str | None
) -> None:
    (row,) = open_study(small(tmp_path / "yawn.csv", governor=governor)).rows(named=True)
    knobs = ("asked.idle.governor", "asked.idle.disable", "effective.idle.governor")
    assert tuple(row[name] for name in knobs) == (asked, disabled, effective)


def test_a_minute_is_a_trial_of_a_minute(tmp_path: Path) -> None:
    (row,) = open_study(small(tmp_path / "yawn.csv")).rows(named=True)
    quantities = {name: row[name] for name in ("duration_s", "qps_offered", "mean_us", "p99_us", "power_w", "trial")}
    assert quantities == {
        "duration_s": 60.0, "qps_offered": 1000.0, "mean_us": 50.0, "p99_us": 200.0, "power_w": 55.0, "trial": 1,
    }  # fmt: skip


def test_another_governor_is_refused(tmp_path: Path) -> None:
    path = small(tmp_path / "yawn.csv", governor="teo")
    with pytest.raises(InputError, match="cannot use 'teo': governor must be menu, yawn or off") as caught:
        open_study(path)
    assert caught.value.place == f"{path}, line 2, column governor"


def test_a_latency_in_another_unit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="avg_us must be in us and lie between"):
        open_study(small(tmp_path / "yawn.csv", avg_us="0.001"))
