"""`bayop idle govern` with a real agent on a recorded machine, and a recorder that prints what it is told."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.agents import AgentProcess, Machine
from tests.support.ebpf import listening

from bayop.cli import main
from bayop.live.agent.lease import TTL_S

CPU = "sys/devices/system/cpu"
LIMIT = f"{CPU}/cpu0/power/pm_qos_resume_latency_us"
STATES = (("POLL", 0, 0), ("C1", 2, 2), ("C1E", 10, 20), ("C6", 133, 600))
HEADER = {"states": STATES, "bounds_us": [2.0**octave for octave in range(16)]}
DEEP = {"duration_s": 0.1, "stays": [[0, 3, 6, 900]]}
"""A window in which CPU 0 slept in C6 for 64 us, nine hundred times."""
NO_COUNTER = "a counter must print the idle states of its machine"


@pytest.fixture
def idle_machine(machine: Machine) -> Machine:
    """With idle states and no limits."""
    for index, (name, latency_us, residency_us) in enumerate(STATES):
        folder = f"{CPU}/cpu0/cpuidle/state{index}"
        for file, text in (("name", name), ("latency", latency_us), ("residency", residency_us), ("disable", 0)):
            machine.write(f"{folder}/{file}", str(text))
    machine.write(LIMIT, "0")
    return machine


def agent_of(mode: str, binary: Path, folder: Path, machine: Machine) -> AgentProcess:
    return AgentProcess(binary, folder, machine.root, mode=mode, allow={"idle.max_latency_us": 'places = ["*"]'})


@pytest.fixture
def idle_agent(agent_binary: Path, tmp_path: Path, idle_machine: Machine) -> Iterator[AgentProcess]:
    with agent_of("apply", agent_binary, tmp_path, idle_machine) as agent:
        yield agent


@pytest.fixture
def recorder(tmp_path: Path) -> Callable[..., str]:
    """A command that prints a header and windows, a hundredth of a second apart, and then waits or ends."""

    def of(*windows: object, again: bool = True, header: object = HEADER) -> str:
        lines = [json.dumps(header), *map(json.dumps, windows)]
        path = tmp_path / "recorder.py"
        path.write_text(
            f"import time\nprint({lines[0]!r}, flush=True)\n"
            f"for line in {lines[1:]!r} * {1000 if again else 1}:\n"
            "    print(line, flush=True)\n    time.sleep(0.01)\n",
            encoding="utf-8",
        )
        return f"{sys.executable} {path}"

    return of


def words(agent: AgentProcess, recorder: str, *more: str) -> list[str]:
    return ["idle", "govern", "--agent", agent.address, "--recorder", recorder, "--window", "100ms", *more]


def test_a_cpu_that_sleeps_too_deeply_is_limited_while_it_runs_and_not_after(
    idle_agent: AgentProcess, idle_machine: Machine, recorder: Callable[..., str]
) -> None:
    with started(words(idle_agent, recorder(DEEP), "--duration", "2s", "--json")) as process:
        await_limit(idle_machine, "10")
        (held,) = idle_agent.client.status().held
        assert (held.knob, held.effective) == ("idle.max_latency_us@cpu0", 10.0)
        (event,) = [json.loads(line) for line in process.communicate(timeout=20)[0].splitlines()]
    assert process.returncode == 0
    assert (event["event"], event["cpu"], event["state"], event["max_latency_us"]) == ("limit", 0, "C1E", 10)
    assert event["is_limited"]
    assert event["energy_share"] < 1.0
    assert event["latency_us"] == 10.0
    assert event["unlimited_latency_us"] == 133.0
    assert idle_machine.read(LIMIT) == "0"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_machine_is_as_it_was_whatever_ends_it(
    idle_agent: AgentProcess, idle_machine: Machine, recorder: Callable[..., str], number: signal.Signals
) -> None:
    with started(words(idle_agent, recorder(DEEP), "--limit", "50us")) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("cpu0: no deeper than C1E (10 us): expected are 10.0 us a wake-up, not 133.0,")
        assert idle_machine.read(LIMIT) == "10"
        process.send_signal(number)
        process.communicate(timeout=20)
    assert process.returncode != 0
    await_limit(idle_machine, "0", timeout_s=TTL_S + 5.0)


def test_a_limit_that_somebody_else_changes_ends_it(
    idle_agent: AgentProcess, idle_machine: Machine, recorder: Callable[..., str]
) -> None:
    with started(words(idle_agent, recorder(DEEP))) as process:
        await_limit(idle_machine, "10")
        idle_machine.write(LIMIT, "77")
        said = process.communicate(timeout=20)[1]
    assert process.returncode == 3
    assert "somebody else changed idle.max_latency_us@cpu0" in said
    assert idle_machine.read(LIMIT) == "77", "theirs"


def test_a_rehearsal_writes_nothing_and_needs_no_agent(
    idle_machine: Machine, recorder: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["idle", "govern", "--recorder", recorder(DEEP), "--window", "100ms", "--dry-run", "--duration", "1s"]
    assert main(command) == 0
    assert "cpu0: no deeper than C1E (10 us)" in capsys.readouterr().out
    assert idle_machine.read(LIMIT) == "0"


def test_what_can_not_be_governed_is_said(
    agent_binary: Path,
    tmp_path: Path,
    idle_machine: Machine,
    recorder: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    with agent_of("observe", agent_binary, tmp_path, idle_machine) as agent:
        assert main(words(agent, recorder(DEEP))) == 4
        assert "the agent is in mode observe" in capsys.readouterr().err
        assert main(words(agent, recorder(DEEP), "--dry-run", "--window", "20s")) == 2
        assert "it must lie between 100ms and 10s" in capsys.readouterr().err
        assert main(words(agent, recorder(DEEP), "--dry-run", "--price", "1", "--limit", "5us")) == 2
        assert "not allowed with" in capsys.readouterr().err


def test_a_limit_that_is_not_allowed_is_refused_before_the_first_write(
    agent_binary: Path,
    tmp_path: Path,
    idle_machine: Machine,
    recorder: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    quiet = {"duration_s": 0.1, "stays": []}
    with AgentProcess(agent_binary, tmp_path, idle_machine.root) as agent:
        assert main(words(agent, recorder(quiet), "--duration", "1s")) == 4
        said = capsys.readouterr().err
        assert said.startswith("error: idle.max_latency_us is not on the agent's allow-list")
        assert 'hint: add [allow."idle.max_latency_us"]' in said
        assert agent.client.status().lease is None


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ((HEADER, DEEP), "the recorder ended early"),
        (({"states": []},), NO_COUNTER),
        ((HEADER, {"duration_s": 1.0, "stays": [[0, 9, 0, 1]]}), NO_COUNTER),
        ((HEADER, "nonsense"), NO_COUNTER),
    ],
)
def test_a_recorder_that_ends_or_prints_something_else_ends_it(
    idle_agent: AgentProcess, idle_machine: Machine, recorder: Callable[..., str], lines: Sequence[object], said: str
) -> None:
    header, *windows = lines
    with started(words(idle_agent, recorder(*windows, again=False, header=header))) as process:
        assert said in process.communicate(timeout=20)[1]
    assert process.returncode == 2
    assert idle_machine.read(LIMIT) == "0"
    assert idle_agent.client.status().lease is None


COUNTER = """\
import json, sys
print({header!r}, flush=True)
for number, _ in enumerate(sys.stdin):
    if number == {asked}:
        break
    print(json.dumps({{"duration_s": 0.1 * number, "stays": [[0, 3, 6, 900 * number]]}}), flush=True)
"""
"""What counts for an agent: in each window the stays of `DEEP`. It ends when it is asked for the last time."""


def test_an_agent_that_counts_needs_no_recorder_and_outlives_its_counter(
    agent_binary: Path, tmp_path: Path, idle_machine: Machine
) -> None:
    counter = tmp_path / "counter.py"
    counter.write_text(COUNTER.format(header=json.dumps(HEADER), asked=4), encoding="utf-8")
    path = tmp_path / "counter.sock"
    with (
        listening(path, [sys.executable, str(counter)]) as counters,
        AgentProcess(
            agent_binary,
            tmp_path,
            idle_machine.root,
            allow={"idle.max_latency_us": 'places = ["*"]'},
            more=f'[idle]\ncounter = "{path}"\n',
        ) as agent,
        started(["idle", "govern", "--agent", agent.address, "--window", "100ms", "--duration", "3s"]) as process,
    ):
        await_limit(idle_machine, "10")
        assert process.communicate(timeout=20)[0].startswith("cpu0: no deeper than C1E (10 us)")
    assert process.returncode == 0
    assert idle_machine.read(LIMIT) == "0"
    assert len(counters) > 1


def test_an_agent_that_does_not_count_is_one_error(
    idle_agent: AgentProcess, idle_machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["idle", "govern", "--agent", idle_agent.address]) == 4
    said = capsys.readouterr().err
    assert said.startswith("error: this agent counts no stays in idle states")
    assert "the table [idle]" in said
    assert idle_agent.client.status().lease is None
    assert idle_machine.read(LIMIT) == "0"


@contextmanager
def started(command: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """The verb in a process of its own."""
    line = [sys.executable, "-m", "bayop", *command]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def await_limit(machine: Machine, text: str, *, timeout_s: float = 20.0) -> None:
    """Waits until the file of CPU 0 has this text."""
    ends = time.monotonic() + timeout_s
    while machine.read(LIMIT) != text:
        assert time.monotonic() < ends, machine.read(LIMIT)
        time.sleep(0.01)
