"""`bayop tune` as people and programs use it, in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

TUNE = [sys.executable, "-m", "bayop", "tune"]


def tune(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"COLUMNS": "100"}
    return subprocess.run([*TUNE, *arguments], capture_output=True, text=True, timeout=60, check=False, env=environment)


@pytest.fixture(scope="module")
def study(shared: Path) -> list[str]:
    return ["--target", "study", "--data", str(shared / "data" / "study_memcached.csv"), "--load", "600kqps"]


def test_programs_get_the_protocol_and_nothing_else(study: list[str]) -> None:
    run = tune(*study, "--slo", "p99<500us", "--seed", "3", "--json")
    assert run.returncode == 0
    assert not run.stderr
    start, *trials, result = [json.loads(line) for line in run.stdout.splitlines()]
    assert start.items() >= {"event": "start", "target": "study", "slo": "p99<500us", "seed": 3}.items()
    assert set(start["space"]) == {"nic.rx_usecs", "cpu.freq_mhz"}
    assert [t["trial"] for t in trials] == list(range(1, len(trials) + 1))
    for trial in trials:
        assert trial["event"] == "trial"
        assert set(trial["setting"]) == {"nic.rx_usecs", "cpu.freq_mhz"}
        assert set(trial["measured"]) == {"power_w", "p99_us", "utilization", "qps"}
        assert trial["meets_slo"] == (trial["measured"]["p99_us"] < 500.0)
        assert trial["chosen_in_s"] > 0
    assert result["event"] == "result"
    assert result["trials"] == len(trials)
    assert result["setting"] == trials[-1]["incumbent"]
    assert result["default"]["power_w"] == pytest.approx(129.7, abs=0.1)
    assert result["predicted"]["p99_us"] < 500.0


def test_several_limits_are_kept_at_once(study: list[str]) -> None:
    run = tune(
        *study, "--slo", "p99<500us", "--slo", "p50<2*default", "--slo", "qps>0.98*default", "--seed", "3", "--json"
    )
    start, *trials, result = [json.loads(line) for line in run.stdout.splitlines()]
    assert (run.returncode, start["slo"]) == (0, "p99<500us,p50<124.7us,qps>588000qps")
    for trial in trials:
        measured = trial["measured"]
        kept = measured["p99_us"] < 500.0 and measured["p50_us"] < 124.7 and measured["qps"] >= 588_000
        assert trial["meets_slo"] == kept
    # The second limit binds: the first alone is met at 74 W, with a median of 267 us.
    assert 100.0 < result["predicted"]["p50_us"] < 124.7
    people = tune(*study, "--slo", "p99<500us,p50<125us", "--explain").stdout
    for text in ("meets p99<500us,p50<125us", "us, p50 1", "at p99 139 us, p50 62 us"):
        assert text in people


def test_a_limit_relative_to_a_default_that_nobody_measured_is_refused(shared: Path) -> None:
    data = str(shared / "data" / "study_memcached.csv")
    run = tune("--target", "study", "--data", data, "--os", "ebbrt", "--load", "600k", "--slo", "p99<1.2*default")
    assert run.returncode == 2
    assert "must have a default that was measured" in run.stderr


def test_the_same_seed_gives_the_same_search(study: list[str]) -> None:
    def settings(seed: int) -> list[object]:
        lines = tune(*study, "--seed", str(seed), "--json").stdout.splitlines()
        return [json.loads(line).get("setting") for line in lines]

    assert settings(1) == settings(1)


def test_people_get_a_table_and_what_it_is_worth(study: list[str]) -> None:
    run = tune(*study)
    assert run.returncode == 0
    for text in ("would hold", "Found: nic.rx_usecs", "The default draws 129.7 W", "kWh per server and year"):
        assert text in run.stdout


def test_a_hold_shows_its_windows_and_the_result_is_what_is_held_then(study: list[str]) -> None:
    run = tune(*study, "--hold", "5", "--json")
    events = [json.loads(line) for line in run.stdout.splitlines()]
    windows = [e for e in events if e["event"] == "window"]
    assert [w["window"] for w in windows] == [1, 2, 3, 4, 5]
    assert events[-1]["setting"] == windows[-1]["incumbent"]
    assert events[-1]["trials"] == sum(e["event"] == "trial" for e in events)
    assert "Held for 5 windows" in tune(*study, "--hold", "5").stdout


def test_a_result_is_explained_knob_by_knob(study: list[str]) -> None:
    run = tune(*study, "--explain", "--json")
    events = [json.loads(line) for line in run.stdout.splitlines()]
    alternatives = [e for e in events if e["event"] == "alternative"]
    assert {(e["knob"], e["move"]) for e in alternatives} >= {("nic.rx_usecs", "lower"), ("cpu.freq_mhz", "fastest")}
    assert "differs from it in one knob" in tune(*study, "--explain").stdout


def test_a_search_without_a_model_explains_nothing(study: list[str]) -> None:
    run = tune(*study, "--explain", "--optimizer", "random", "--max-trials", "3")
    assert run.returncode == 2
    assert "what explains must be the model of grey-box" in run.stderr


def test_an_slo_that_nothing_meets_ends_with_the_default_and_exit_code_1(study: list[str]) -> None:
    run = tune(*study, "--slo", "p99<20us")
    assert run.returncode == 1
    assert "No setting is trusted to meet p99" in run.stdout
    assert "infeasible" in tune(*study, "--slo", "p99<20us", "--json").stdout


def test_one_knob_alone_leaves_the_other_to_the_twins_policy() -> None:
    run = tune("--load", "400kqps", "--only", "cpu.freq_mhz", "--json")
    assert run.returncode == 0
    trials = [json.loads(line) for line in run.stdout.splitlines()][1:-1]
    assert {t["setting"]["nic.rx_usecs"] for t in trials} == {"auto"}
    assert len({t["setting"]["cpu.freq_mhz"] for t in trials}) > 1


def test_ctrl_c_holds_the_incumbent_and_says_so() -> None:
    arguments = ["--load", "400kqps", "--optimizer", "random", "--max-trials", "2000", "--json"]
    with subprocess.Popen([*TUNE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        head = [process.stdout.readline() for _ in range(4)]
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=30)
    result = json.loads(rest.splitlines()[-1])
    assert "Traceback" not in errors
    assert result["event"] == "result"
    assert result["stopped"] == "interrupted"
    assert result["setting"] == json.loads([*head, *rest.splitlines()[:-1]][-1])["incumbent"]
    assert process.returncode == (0 if result["setting"] else 1)
