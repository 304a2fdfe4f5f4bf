"""What becomes of a generator's slices; the real generator and a real server are in the end-to-end tests."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.support.load_results import load_report
from tests.support.patience import eventually

from bayop.errors import BayopError, InputError
from bayop.latency.base import Vantage, Window
from bayop.load.plan import ClosedLoop, OpenLoop, Plan, Replay, Schedule, ServerError
from bayop.load.steady import SLICE_S, LoadLostError, SteadyLoad

PLAN = Plan(servers=("web1:11211",), schedule=OpenLoop.constant(50.0), warmup_s=9.0, duration_s=99.0, timeout_s=0.5)
# Prints the lines of a file, one for each 20 ms, and ends with its stdin; the words behind are those of the real one.
PLAYER = """
import os, select, sys
plan = os.read(0, 1 << 16)
open(sys.argv[1] + ".plan", "wb").write(plan)
for line in open(sys.argv[1]):
    if select.select([0], [], [], 0.02)[0]: sys.exit()
    print(line, end="", flush=True)
if sys.argv[2] != "ends": os.read(0, 1)
sys.exit("no such host")
"""


def played(tmp_path: Path, lines: Sequence[str], *, then: str = "waits") -> SteadyLoad:
    file = tmp_path / "lines"
    file.write_text("".join(f"{line}\n" for line in lines))
    return SteadyLoad(PLAN, through=[sys.executable, "-c", PLAYER, str(file), then])


def slices(count: int) -> list[str]:
    """Slice number n has a latency of n ms, but for some requests that are slower by n us."""
    return [f"report {load_report([1000.0 * n] * 95 + [1001.0 * n] * 5).to_json()}" for n in range(1, count + 1)]


def test_a_window_is_made_of_the_slices_that_begin_in_it(tmp_path: Path) -> None:
    """The first slice was awaited before the search began, and each window leaves out the one that is under way."""
    windows = []
    with played(tmp_path, slices(200)) as load:
        for late_s in (0.0, 0.2):
            latency = load.measure(Window({}, 2 * SLICE_S), sleep=lambda s, late_s=late_s: time.sleep(s + late_s))  # type: ignore[misc]
            assert latency.vantage is Vantage.CLIENT
            # A batch of each slice has 100 requests, ten batches a slice, in a second each.
            assert latency.quantities["qps"] == pytest.approx(1000.0)
            windows.append((latency.quantities["p50_us"] / 1000.0, latency.quantities["p99_us"] / 1001.0))
    for earlier, later in windows:
        assert round(later) - round(earlier) == 1, "two slices, one after the other"
    assert round(windows[0][0]) >= 3
    assert round(windows[1][0]) >= round(windows[0][1]) + 2


def test_what_was_last_seen_is_worked_out_once_a_slice(tmp_path: Path) -> None:
    """A guard looks far more often, on the machine whose power is measured."""
    answers = []

    def look(duration_s: float) -> None:
        answers.append(load.recent())
        time.sleep(duration_s / 10)

    with played(tmp_path, slices(200)) as load:
        # So many that a busy machine, which looks less often than slices come, sees some of them.
        load.measure(Window({}, 12 * SLICE_S), sleep=look)
    assert answers[0] is None, "no slice of the window has ended"
    latencies = [answer for answer in answers if answer is not None]
    distinct = {id(answer): answer.quantities["p50_us"] for answer in latencies}
    assert len(latencies) > len(distinct) == len(set(distinct.values())) >= 3
    assert list(distinct.values()) == sorted(distinct.values())


def test_whoever_takes_the_slices_gets_all_of_them_and_nothing_is_kept(tmp_path: Path) -> None:
    taken: list[object] = []
    file = tmp_path / "lines"
    file.write_text("".join(f"{line}\n" for line in slices(20)))
    words = [sys.executable, "-c", PLAYER, str(file), "waits"]
    with SteadyLoad(PLAN, through=words, on_slice=taken.append) as load:
        assert eventually(lambda: len(taken) == 20, within_s=20)
        load.check()
        assert load.recent() is not None
        load.change(70.0)
        assert load.qps == 70.0


def test_how_exact_a_quantile_is_follows_from_its_interval(tmp_path: Path) -> None:
    spread = load_report([1000.0 + 10.0 * n for n in range(100)])
    (p50,) = spread.quantiles([0.5])
    _, value_us, low_us, high_us = p50
    assert value_us is not None
    assert low_us is not None
    assert high_us is not None
    with played(tmp_path, [f"report {spread.to_json()}"] * 20) as load:
        latency = load.measure(Window({}, SLICE_S), sleep=time.sleep)
    assert latency.relative_sd["p50_us"] == pytest.approx((high_us - low_us) / (2 * 1.96 * value_us))


def test_a_quantile_that_falls_on_lost_requests_is_not_there(tmp_path: Path) -> None:
    lossy = f"report {load_report([1000.0] * 98, failed=2).to_json()}"
    with played(tmp_path, [lossy] * 20) as load:
        quantities = load.measure(Window({}, SLICE_S), sleep=time.sleep).quantities
    assert {"p50_us", "p95_us"} <= set(quantities)
    assert "p99_us" not in quantities


def test_the_last_moments_are_those_of_two_slices(tmp_path: Path) -> None:
    """6 % of the requests of slice number n take n ms: of two slices together, p95 is the first's, p99 the second's."""
    lines = [f"report {load_report([1000.0] * 94 + [1000.0 * n] * 6).to_json()}" for n in range(2, 200)]
    with played(tmp_path, lines) as load:
        load.measure(Window({}, 4 * SLICE_S), sleep=time.sleep)
        recent = load.recent()
    assert recent is not None
    assert recent.quantities["p99_us"] - recent.quantities["p95_us"] == pytest.approx(1000.0, rel=0.05)


@pytest.mark.parametrize(("batch", "told"), [(15, set()), (25, {"qps"})])
def test_a_moment_of_few_requests_does_not_tell_the_load(batch: int, told: set[str], tmp_path: Path) -> None:
    """Two slices, of ten such batches each."""
    with played(tmp_path, [f"report {load_report([1000.0] * batch).to_json()}"] * 40) as load:
        whole = load.measure(Window({}, 4 * SLICE_S), sleep=time.sleep)
        recent = load.recent()
    assert recent is not None
    assert {"qps", "p50_us"} & set(recent.quantities) == {"p50_us"} | told
    assert "qps" in whole.quantities


def test_a_server_that_answers_nothing_ends_the_window(tmp_path: Path) -> None:
    silent = f"report {load_report([], failed=5).to_json()}"
    with (
        played(tmp_path, [silent] * 20) as load,
        pytest.raises(ServerError, match=r"the server does not answer \(web1:11211\)"),
    ):
        load.measure(Window({}, SLICE_S), sleep=time.sleep)


@pytest.mark.parametrize("kind", [InputError, ServerError])
def test_the_generators_error_is_ours(tmp_path: Path, kind: type[BayopError]) -> None:
    fields = {"kind": kind.kind, "wrong": "W", "rule": "it must", "value": "V", "place": "P", "hint": "H"}
    load = played(tmp_path, [*slices(2), f"error {json.dumps(fields)}"])
    with load, pytest.raises(kind) as caught:
        load.measure(Window({}, 5.0), sleep=time.sleep)
    assert (caught.value.message, caught.value.hint) == ("W; it must (P)", "H")


@pytest.mark.parametrize(
    "line", ["Welcome to web1!", "report {}", "report " + "[" * 5000, "error [", 'error {"kind": []}', 'error {"a": 1}']
)
def test_what_the_generator_does_not_say_ends_the_load(tmp_path: Path, line: str) -> None:
    with (
        played(tmp_path, [*slices(2), line]) as load,
        pytest.raises(LoadLostError, match="what starts the load generator must print nothing else"),
    ):
        load.measure(Window({}, 5.0), sleep=time.sleep)


def test_a_generator_that_ends_is_told_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(LoadLostError, match="the load generator ended before the search: exit code 1") as caught:
        played(tmp_path, [], then="ends").__enter__()
    assert caught.value.hint == "no such host"


def test_a_generator_that_is_killed_is_told_with_the_signal(tmp_path: Path) -> None:
    with played(tmp_path, slices(2)) as load:
        assert load.pid is not None
        os.kill(load.pid, signal.SIGKILL)
        with pytest.raises(LoadLostError, match="signal SIGKILL"):
            load.measure(Window({}, SLICE_S), sleep=time.sleep)


def test_the_load_is_the_plans_in_slices(tmp_path: Path) -> None:
    with played(tmp_path, slices(3)) as load:
        assert load.qps == 50.0
        plan = json.loads((tmp_path / "lines.plan").read_text())
    assert plan["duration_s"] == SLICE_S
    assert plan["warmup_s"] < 0.1
    assert plan["schedule"] == json.loads(PLAN.to_json())["schedule"]


@pytest.mark.parametrize("schedule", [ClosedLoop(), Replay((0.0,))])
def test_only_an_open_loop_can_be_kept_up(schedule: Schedule) -> None:
    with pytest.raises(
        InputError, match=f"cannot use '{type(schedule).__name__}': a load that is kept up must be an open loop"
    ):
        SteadyLoad(Plan(servers=("web1:1",), schedule=schedule))


def test_a_way_to_the_clients_that_is_not_there(tmp_path: Path) -> None:
    for words, why in ((["/nowhere/ssh", "client"], "no such file"), ([str(tmp_path)], "permission denied")):
        with pytest.raises(InputError) as caught:
            SteadyLoad(PLAN, through=words).__enter__()
        assert caught.value.message == f"cannot start the load generator {words[0]}: {why}"
