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
