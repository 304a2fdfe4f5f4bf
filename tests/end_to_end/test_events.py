"""What every verb prints under `--json` is one object a line, and valid by the schema that is published."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from tests.support.agents import AgentProcess
from tests.support.captures import RECORDING, player
from tests.support.schemas import closed
from tests.support.servers import free_port, memcached_on
from tests.support.twin_captures import write_twin_captures

from bayop.cli import main
from bayop.events import ERROR, EVENTS, schema
from bayop.idle.recorder import COLUMNS
from bayop.idle.trace import read_trace
from bayop.live.agent.lease import Lease

Check = Callable[..., set[str]]

OFFLINE = {
    "tune": ["--load 400k --max-trials 3", "--target study --data example:memcached --load 600k", "--slo x"],
    "knobs": [""],
    "status": ["--agent unix:/nowhere/agent.sock"],
    "twin run": ["--load 400k --requests 2000 --slo p99<1ms", "--profile linux-netpipe --message 64KB --requests 200"],
    "twin validate": ["--data example:memcached --os linux --loads 200k --requests 500"],
    "sweep": ["--load 400k --points 2 --processes 1 --out sweep.csv"],
    "study show": ["example:memcached"],
    "study merge": ["example:memcached example:silo --out both.parquet"],
    "study export": ["example:memcached --out copy.csv.gz"],
    "study columns": [""],
    "report": ["example:memcached --out report"],
    "fit": ["example:memcached --os linux --load 200k --model published"],
    "app list": [""],
    "app install": ["nothing"],
    "app start": ["nothing"],
    "doctor": ["", "--calibrate nic", "--bundle machine.tree"],
    "init": ["", "--root nowhere.tree"],
    "carbon": ["missing.csv"],
    "idle cores": ["--loads 5k --requests 500", "--loads 0"],
    "idle day": ["--requests 200"],
    "idle synthesize": ["poisson --out trace.csv", "batch --out nowhere/trace.csv"],
}  # fmt: skip
DATA = {
    "idle day": ["yawn_trace_by_minute.csv --requests 100"],
    "idle replay": ["idle/r_mc8k.csv.gz --governors menu,bayop"],
    "carbon": ["systor_cci.csv"],
    "interrupts show": ["interrupts_netpipe_linux_default_64B.csv.gz interrupts_netpipe_linux_default_8192B.csv.gz"],
}


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Check:
    """Runs a verb, validates what it prints, and says which events these were."""
    monkeypatch.chdir(tmp_path)

    def run(verb: str, *words: str) -> set[str]:
        main([*verb.split(), *words, "--json"])
        validator = Draft202012Validator(closed(schema(verb, [*EVENTS[verb], ERROR])))
        output = capsys.readouterr()
        lines = [json.loads(line) for line in output.out.splitlines()]
        for line in lines:
            named = Draft202012Validator(
                next(closed(event.schema()) for event in (*EVENTS[verb], ERROR) if event.name == line["event"])
            )
            named.validate(line)  # says what is wrong better than the whole schema does
            validator.validate(line)
        assert lines
        sys.stderr.write(output.err)  # for whoever did not expect the error among them
        return {line["event"] for line in lines}

    return run


@pytest.mark.parametrize(("verb", "words"), [(verb, words) for verb, many in OFFLINE.items() for words in many])
def test_offline(verb: str, words: str, check: Check) -> None:
    check(verb, *words.split())


@pytest.mark.parametrize(("verb", "words"), [(verb, words) for verb, many in DATA.items() for words in many])
def test_published_data(verb: str, words: str, data: Path, check: Check) -> None:
    arguments = [str(data / word) if (data / word).exists() else word for word in words.split()]
    assert "error" not in check(verb, *arguments)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verb", "words"),
    [
        ("demo", "--hours 1 --out demo"),
        ("twin fit", "--data example:memcached --profile linux-memcached --sweeps 10 --requests 200 --out fitted.toml"),
        ("twin crossvalidate", "--data example:memcached --profile linux-memcached --sweeps 10 --requests 200"),
        ("twin generality", "--services img-dnn --machines epyc-ena --out generality"),
    ],
)
def test_longer_ones(verb: str, words: str, check: Check) -> None:
    assert "error" not in check(verb, *words.split())


@pytest.mark.slow
def test_claims(data: Path, check: Check) -> None:
    assert check("claims", "--data", str(data), "--only", "open-loop-43") == {"claim"}


def test_a_fit_to_captures(tmp_path: Path, check: Check) -> None:
    write_twin_captures(tmp_path)
    words = "--capture logs/100us logs/200us --profile own.toml --out fitted.toml --sweeps 6 --requests 500"
    settings = [
        f"--setting=nic.rx_usecs={setting}" for setting in ("100us,cpu.freq_mhz=1.9GHz", "200us,cpu.freq_mhz=2.9GHz")
    ]
    assert check("twin fit", *words.split(), *settings) == {"capture", "fit", "parameter", "prediction"}


def test_a_log_is_converted(data: Path, check: Check) -> None:
    log = data / "interrupts_netpipe_linux_default_64B.csv.gz"
    assert check("interrupts convert", str(log), "--out", "log.parquet") == {"written"}


def test_a_recording_of_interrupts(tmp_path: Path, check: Check) -> None:
    """By something that prints what the eBPF recorder does."""
    words = shlex.join(player(tmp_path, RECORDING))
    flags = ("--device", "eth0", "--recorder", words)
    assert check("interrupts record", *flags, "--out", "logs") == {"recorded"}
    assert check("interrupts watch", *flags, "--interval", "100ms") == {"moment"}


def test_a_recording(tmp_path: Path, check: Check) -> None:
    """By something that prints what the eBPF recorder does."""
    kernel = '"kernel_ns_per_stay": 90.5, "nothing_ns_per_stay": 40.0'
    cost = f'{kernel}, "reader_ns_per_stay": 12.0, "core_share_at_100k_per_s": 0.01'
    counted = '"stays": 1, "lost": 0, "duration_s": 0.1, "governor": "menu", "driver": "acpi_idle", "timers": true'
    lines = [",".join(COLUMNS), "1,9,8,7,3,0,-1,2,6,1", f"{{{counted}, {cost}}}"]
    recorder = tmp_path / "recorder.py"
    recorder.write_text("".join(f"print({line!r})\n" for line in lines), encoding="utf-8")
    assert check("idle record", "--recorder", f"{sys.executable} {recorder}", "--out", "traces") == {"recorded"}
    assert read_trace(tmp_path / "traces" / "cpu1.csv.gz").rows == ((9, 8, 7, 2, 0, -1),)


def test_an_agent(agent: AgentProcess, check: Check) -> None:
    assert check("knobs", "--agent", agent.address) >= {"place"}
    lease = Lease(agent.client, holder="a test")
    assert check("status", "--agent", agent.address) == {"status"}
    lease.release(keep=False)
    assert check("restore", "--agent", agent.address) == {"restored"}
    assert check("doctor", "--agent", agent.address) >= {"finding", "verdict"}
    assert check("doctor", "--agent", agent.address, "--exercise", "--yes") == {"exercise", "exercised"}
    target = f"agent:{agent.address}"
    knob = ["--only", "power.cap_w", "--range", "power.cap_w=60:120:5"]
    assert check("tune", "--target", target, "--dry-run", *knob) == {"dry-run"}
    latency = """printf '{"vantage": "client", "p99_us": 100, "qps": 1000}'"""
    brief = ["--window", "50ms", "--settle", "1ms", "--max-trials", "2", "--confirm", "6"]
    events = check("tune", "--target", target, "--latency", latency, "--load", "1k", *knob, *brief)
    assert events >= {"start", "trial", "result"}


@pytest.fixture
def server() -> Iterator[str]:
    port = free_port()
    with memcached_on(port):
        yield f"127.0.0.1:{port}"


def test_a_server(server: str, check: Check) -> None:
    brief = ["-s", server, "-c", "2", "-w", "0s", "-t", "200ms", "-r", "100"]
    assert check("load", *brief, "-q", "1k") == {"stored", "result"}
    assert check("load", *brief, "--scan", "500:1000:500") == {"stored", "step"}
    assert check("load", *brief, "--search", "99:1us", "-q", "500") == {"stored", "step", "highest"}
    assert check("probe", f"memcached://{server}", "--window", "500ms") == {"window"}


@pytest.mark.slow
@pytest.mark.weekly
def test_live(agent_binary: Path, check: Check) -> None:
    flags = ["--agent-program", str(agent_binary), "--load", "2k", "--window", "200ms", "--timeouts", "0,100"]
    assert check("live", *flags, "--patience", "1ms", "--max-trials", "2", "--out", "live") >= {"start", "sweep"}
