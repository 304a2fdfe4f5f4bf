from __future__ import annotations

from pathlib import Path

import pytest

from bayop.errors import InputError
from bayop.experiments.idle.day import POLICIES, is_published_trace, play_day, steps_of_curve, steps_of_trace
from bayop.experiments.idle.record import Shown, Step
from bayop.load.curve import LoadCurve
from bayop.slo import Slo
from bayop.twin.profile_library import load_profile

SERVER = load_profile("linux-memcached")
SLO = Slo.parse("p99<200us")
HEADER = "governor,minute,qps_offered,avg_us,p95_us,p99_us,p999_us,power_w,power_median_w,pkg0_w,pkg1_w,power_samples"


def trace(path: Path, *rows: tuple[str, int, int, float]) -> Path:
    lines = [f"{g},{m},{qps},80,90,{p99_us},400,60,60,30,30,12" for g, m, qps, p99_us in rows]
    path.write_text("\n".join([HEADER, *lines, ""]))
    return path


def test_the_hours_of_a_curve_are_steps() -> None:
    steps = steps_of_curve(LoadCurve("two hours", (5e3, 9e3)))
    assert steps == [Step(0.0, 3600.0, 5e3), Step(3600.0, 3600.0, 9e3)]


def test_the_minutes_of_a_trace_are_steps_beside_what_was_published(tmp_path: Path) -> None:
    path = trace(
        tmp_path / "trace.csv",
        *(("menu", 1, 5000, 210.0), ("menu", 2, 9000, 190.0), ("yawn", 1, 5000, 120.0), ("yawn", 2, 9000, 130.0)),
    )
    assert is_published_trace(str(path))
    first, second = steps_of_trace(path, SLO)
    assert (first.start_s, first.duration_s, second.start_s, second.qps) == (0.0, 60.0, 60.0, 9e3)
    assert first.published == {"menu": Shown(60.0, 210.0), "yawn": Shown(60.0, 120.0)}


def test_governors_that_served_other_rates_are_no_comparison(tmp_path: Path) -> None:
    path = trace(tmp_path / "trace.csv", ("menu", 1, 5000, 210.0), ("off", 1, 6000, 90.0))
    with pytest.raises(InputError, match="all governors must serve the same rates"):
        steps_of_trace(path, SLO)


def test_a_quantile_that_nobody_published_is_refused(tmp_path: Path) -> None:
    path = trace(tmp_path / "trace.csv", ("menu", 1, 5000, 210.0))
    with pytest.raises(InputError, match="the trace has no p90_us"):
        steps_of_trace(path, Slo.parse("p90<200us"))


@pytest.mark.parametrize("name", ["twitter", "no-such-file.csv", "hourly.csv"])
def test_what_is_no_trace_is_a_curve(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hourly.csv").write_text("hour,qps_mean\n0,1000\n")
    assert not is_published_trace(name)


def test_every_step_is_played_under_every_policy() -> None:
    published = {"menu": Shown(90.0, 200.0)}
    steps = [Step(0.0, 60.0, 20e3, published), Step(60.0, 60.0, 80e3)]
    played = list(play_day(SERVER, steps, SLO, requests=2_000, seed=1, threads=2))
    assert [[window.step for window in windows] for windows in played] == [[step] * len(POLICIES) for step in steps]
    menu, off, yawn, bayop = played[0]
    assert (menu.published, off.published, yawn.published, bayop.published) == (published["menu"], None, None, None)
    assert off.simulated.power_w > 1.4 * max(menu.simulated.power_w, bayop.simulated.power_w)
    assert off.simulated.latency_us < yawn.simulated.latency_us < menu.simulated.latency_us
    assert played == list(play_day(SERVER, steps, SLO, requests=2_000, seed=1, threads=1))
