"""A real memcached, real load and a real knob of the kernel, in network namespaces of this machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.needs import need
from tests.support.patience import eventually
from tests.support.rig import deferral_of

from bayop.experiments.rig.namespaces import Rig
from bayop.experiments.rig.record import LiveRecord
from bayop.live.agent.lease import TTL_S
from bayop.live.file import LiveFile
from bayop.live.senses import Senses
from bayop.live.window import window_quantities
from bayop.load.steady import SteadyLoad
from bayop.space import DEFER_HARD_IRQS, GRO_FLUSH_TIMEOUT_US

pytestmark = [pytest.mark.slow, pytest.mark.alone]

DEFAULT = (0, 0)
"""What the kernel has before and after: no timeout, no deferral."""


@pytest.fixture
def rig(agent_binary: Path) -> Iterator[Rig]:
    need("namespaces", "memcached")
    with Rig(agent_binary, qps=3000.0, window_s=0.5, patience_s=0.0) as rig:
        yield rig


@pytest.fixture
def tuning(rig: Rig) -> Iterator[subprocess.Popen[str]]:
    """A search that goes on, in the middle of a trial that defers interrupts."""
    words = [
        sys.executable, "-m", "bayop", "tune", "--target", str(rig.file), "--slo", "p90<1s", "--optimizer",
        "random", "--max-trials", "500", "--json",
    ]  # fmt: skip
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(3)]
            assert [json.loads(line)["event"] for line in lines] == ["start", "trial", "trial"]
            assert eventually(lambda: deferral_of(rig) != DEFAULT, within_s=20)
            yield process
        finally:
            process.kill()


def processes(word: str) -> list[int]:
    """Everything that has a word in its command line, but us."""
    ids = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if word.encode() in (folder / "cmdline").read_bytes() and int(folder.name) != os.getpid():
                ids.append(int(folder.name))
        except OSError:
            continue
    return ids


def generator_of(process: subprocess.Popen[str]) -> int:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
    (generator,) = [int(pid) for pid in children if int(pid) in processes("steady_worker")]
    return generator


def live(agent_binary: Path, folder: Path, *more: str) -> list[str]:
    return [
        sys.executable, "-m", "bayop", "live", "--agent-program", str(agent_binary), "--out", str(folder), "--load",
        "3kqps", "--window", "250ms", "--slo", "p90<1s", "--patience", "1ms", "--json", *more,
    ]  # fmt: skip


def test_latency_follows_the_deferral_and_the_report_shows_it(agent_binary: Path, tmp_path: Path) -> None:
    need("namespaces", "memcached")
    words = live(agent_binary, tmp_path, "--timeouts", "0,800", "--max-trials", "2", "--confirm", "6", "--cpus", "0")
    run = subprocess.run(words, capture_output=True, text=True, timeout=100, check=False)
    assert run.returncode == 0, run.stderr
    events: list[dict[str, Any]] = [json.loads(line) for line in run.stdout.splitlines()]
    stages = [event["event"] for event in events]
    again = stages.count("again")
    assert stages == ["start", *["sweep"] * 6, *["search"] * 2, *["again"] * again, "data", "result"]
    assert again >= 4, "default and winner are measured in turns, until the saving is known well enough"
    assert events[0]["estimated"] == ["energy_j", "power_w"]
    swept = {
        (e["setting"][GRO_FLUSH_TIMEOUT_US], e["setting"][DEFER_HARD_IRQS]): e["measured"]
        for e in events
        if e["event"] == "sweep"
    }
    for polls in (1, 2, 4):
        # Half of the timeout is expected; two windows of a quarter of a second differ by up to 70 us.
        assert swept[800, polls]["p50_us"] > swept[0, polls]["p50_us"] + 150
    record = msgspec.json.decode((tmp_path / "data.json").read_bytes(), type=LiveRecord)
    assert (len(record.sweep), len(record.search), record.failure) == (6, 2, None)
    assert record.held is not None
    assert all(0.0 < p.quantities["service_cpu"] < 1.0 for p in record.sweep)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "every power is estimated" in page
    assert "power (W, estimated)" in page
    assert page.count("<svg") == 2
    assert processes(str(record.machine.split("unix:")[1].split("/agent.sock")[0])) == []


def test_a_busy_neighbour_does_not_hide_what_a_setting_changes(agent_binary: Path) -> None:
    need("namespaces", "memcached")
    with ExitStack() as stack:
        rig = stack.enter_context(Rig(agent_binary, qps=8000.0, window_s=3.0))
        live = LiveFile.read(rig.file)
        assert live.load is not None
        load = stack.enter_context(SteadyLoad(live.load.plan, through=live.load.through, store=True))
        senses = Senses(rig.client, load, window_s=live.window_s, service=rig.service())

        def powers_w(timeout_us: int) -> tuple[float, float]:
            """By what the service does, and by the utilization of this machine."""
            rig.defer(gro_flush_timeout_us=timeout_us, defer_hard_irqs=1)
            before = rig.client.sensors()
            estimated_w = senses.window({}, sleep=time.sleep)["power_w"]
            return estimated_w, window_quantities(before, rig.client.sensors())["power_w"]

        alone_w, _ = powers_w(0)
        for _ in range(os.cpu_count() or 1):
            neighbour = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            stack.callback(neighbour.wait)
            stack.callback(neighbour.kill)
        busy, deferred = powers_w(0), powers_w(800)
    assert (busy[1], deferred[1]) == pytest.approx((60.0, 60.0), abs=1.0), "the utilization says nothing"
    assert 20.5 < busy[0] < 30.0
    assert busy[0] - 20.0 == pytest.approx(alone_w - 20.0, rel=0.3), "it counts the service alone"
    assert deferred[0] - 20.0 < 0.9 * (busy[0] - 20.0), "a poll serves more packets"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_whatever_ends_it_takes_everything_down(agent_binary: Path, tmp_path: Path, number: signal.Signals) -> None:
    need("namespaces", "memcached")
    with subprocess.Popen(
        live(agent_binary, tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        folder = json.loads(run.stdout.readline())["machine"].split("unix:")[1].split("/agent.sock")[0]
        run.stdout.readline()
        started = processes(folder)
        assert started
        run.send_signal(number)
        _, errors = run.communicate(timeout=30)
    assert eventually(lambda: processes(folder) == [], within_s=10)
    assert "Traceback" not in errors
    if number != signal.SIGKILL:
        record = json.loads((tmp_path / "data.json").read_text(encoding="utf-8"))
        assert record["sweep"], "what was measured is kept"
        assert record["failure"] == {signal.SIGINT: "KeyboardInterrupt", signal.SIGTERM: "SystemExit"}[number]


def test_a_load_generator_that_dies_ends_the_search(rig: Rig, tuning: subprocess.Popen[str]) -> None:
    os.kill(generator_of(tuning), signal.SIGKILL)
    _, errors = tuning.communicate(timeout=30)
    assert tuning.returncode == 1
    assert "the load generator ended before the search: signal SIGKILL" in errors
    assert deferral_of(rig) == DEFAULT


def test_a_service_that_dies_ends_the_search(rig: Rig, tuning: subprocess.Popen[str]) -> None:
    os.kill(rig.service_pid, signal.SIGKILL)
    _, errors = tuning.communicate(timeout=30)
    assert tuning.returncode == 1, errors
    assert "10.207.0.1:11211" in errors
    assert "Traceback" not in errors
    assert deferral_of(rig) == DEFAULT


def test_an_agent_that_dies_ends_the_search_and_the_next_one_restores(rig: Rig, tuning: subprocess.Popen[str]) -> None:
    os.kill(rig.agent_pid, signal.SIGKILL)
    _, errors = tuning.communicate(timeout=40)
    assert tuning.returncode == 3, errors
    assert "the agent restores the machine when the lease ends, or when it starts again" in errors
    rig.start_agent()
    assert deferral_of(rig) == DEFAULT


def test_a_brain_that_dies_takes_its_load_along_and_the_lease_restores(rig: Rig, tuning: subprocess.Popen[str]) -> None:
    generator = generator_of(tuning)
    tuning.kill()
    assert eventually(lambda: generator not in processes("steady_worker"), within_s=5)
    assert eventually(lambda: deferral_of(rig) == DEFAULT, within_s=TTL_S + 5)
    assert "lease_expired" in rig.log()


def test_a_guard_ends_a_trial_that_hurts(rig: Rig) -> None:
    """An SLO that no setting comes near: deferral breaks it ten times over."""
    words = [
        sys.executable, "-m", "bayop", "tune", "--target", str(rig.file), "--slo", "p50<20us", "--optimizer",
        "grid", "--max-trials", "4", "--json",
    ]  # fmt: skip
    run = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode in (0, 1), run.stderr
    trials = [json.loads(line) for line in run.stdout.splitlines() if '"trial"' in line]
    slowest = next(t for t in trials if t["setting"][GRO_FLUSH_TIMEOUT_US] == 400)
    assert "p50" in slowest["cut_short"]
    assert slowest["meets_slo"] is False
    assert deferral_of(rig) == DEFAULT


def test_a_dry_run_shows_the_difference_and_writes_nothing(rig: Rig) -> None:
    words = [sys.executable, "-m", "bayop", "tune", "--target", str(rig.file), "--dry-run", "--json"]
    run = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
    assert run.returncode == 0, run.stderr
    assert {change["knob"] for change in json.loads(run.stdout)["changes"]} == {
        f"{GRO_FLUSH_TIMEOUT_US}@{rig.device}",
        f"{DEFER_HARD_IRQS}@{rig.device}",
    }
    assert "holder" not in rig.log()


@pytest.mark.parametrize(
    "flag",
    [
        ["--load", "5"],
        ["--only", GRO_FLUSH_TIMEOUT_US],
        ["--range", f"{GRO_FLUSH_TIMEOUT_US}=0:10"],
        ["--window", "1s"],
    ],
)
def test_what_the_file_says_is_not_said_again(tmp_path: Path, flag: list[str]) -> None:
    words = [sys.executable, "-m", "bayop", "tune", "--target", str(tmp_path / "live.toml"), *flag]
    run = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
    assert run.returncode == 2
    assert flag[0] in run.stderr
