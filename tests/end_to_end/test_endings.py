"""However the program `bayop` ends, people see a sentence and never a traceback, and programs the code of the table."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.support.needs import require
from tests.support.studies import write_study

# Says by a pipe that our own first lines have been read: what comes before is Python's.
STUB = "import os, sys, bayop.__main__ as program; os.write(int(sys.argv.pop(1)), b'x'); program.main()"
VERBS = {
    "help": ["--help"],
    "knobs": ["knobs"],
    "json": ["knobs", "--json"],
    "app": ["app", "list"],
    "twin": ["twin", "run", "--load", "400k", "--requests", "2000"],
    "tune": ["tune", "--load", "400k", "--max-trials", "3"],
    "tune-json": ["tune", "--load", "400k", "--max-trials", "3", "--json"],
}


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = ["bash", "-c", line, "bash", sys.executable]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False, timeout=60)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("redirection", "message"),
    [
        (">/dev/full", "error: cannot write to stdout: no space left on device\n"),
        (">&-", "error: cannot write to stdout: it is closed\n"),
        ("| true", ""),
    ],
)
def test_stdout_that_can_not_be_written(verb: str, redirection: str, message: str, tmp_path: Path) -> None:
    run = shell(f'"$1" -m bayop {" ".join(VERBS[verb])} {redirection}; exit ${{PIPESTATUS[0]}}', tmp_path)
    assert run.stderr == message
    # What fits into the pipe's buffer is written before anybody knows that it is not read.
    assert run.returncode in ({0, 141} if redirection == "| true" else {1})


def test_everything_closed_is_no_traceback_either(tmp_path: Path) -> None:
    assert shell('"$1" -m bayop knobs <&- >&- 2>&-', tmp_path).returncode == 1


@pytest.fixture
def full_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk of 32 KiB."""
    folder = tmp_path / "full"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", folder], capture_output=True, check=False
    )
    require(mounted.returncode == 0, "a small disk can't be mounted", "sudo make test")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize(
    "arguments",
    [
        "report $STUDY --out full/report",
        pytest.param("fit example:memcached --os linux --load 200k --out full/fit", marks=pytest.mark.slow),
        "study export example:memcached --out full/study.csv",
        "study export example:memcached --out full/study.parquet",
        "sweep --load 400k --points 4 --out full/sweep.parquet",
        "demo --hours 1 --out full/demo",
    ],
)
def test_a_full_disk_is_one_clear_error(arguments: str, full_folder: Path, tmp_path: Path) -> None:
    study = write_study(tmp_path / "study.csv")
    (full_folder / "ballast").write_bytes(b"x" * (24 << 10))
    run = shell(f'"$1" -m bayop {arguments.replace("$STUDY", str(study))}', tmp_path)
    assert run.returncode in {1, 2}
    assert run.stderr.startswith("error: ")
    assert "no space left on device" in run.stderr.lower()
    assert "Traceback" not in run.stderr


def ended(arguments: list[str], folder: Path, number: signal.Signals, delay_s: float) -> tuple[int, str]:
    """Sends a signal to the program and all of its processes, as a terminal does."""
    reads, writes = os.pipe()
    command = [sys.executable, "-c", STUB, str(writes), *arguments]
    with subprocess.Popen(
        command, pass_fds=[writes], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=folder,
        start_new_session=True,
    ) as process:  # fmt: skip
        os.close(writes)
        os.read(reads, 1)
        os.close(reads)
        with suppress(subprocess.TimeoutExpired):
            process.wait(delay_s)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        _, errors = process.communicate(timeout=60)
    return process.returncode, errors


TIMES = 12
"""At how many moments each verb is ended."""

# Python itself gives signals back to the system at its very end: what comes then ends it without a word.
INTERRUPTED = {0, 1, 130, -signal.SIGINT}
TERMINATED = {0, 143, -signal.SIGTERM}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("delay_s", [0.0, 0.03, 0.1, 0.3, 0.6])
def test_a_search_may_be_ended_at_any_time(number: signal.Signals, delay_s: float, tmp_path: Path) -> None:
    code, errors = ended(["tune", "--load", "400k"], tmp_path, number, delay_s)
    assert code in (INTERRUPTED if number == signal.SIGINT else TERMINATED), errors
    assert errors in {"", "interrupted\n"}


WITNESS = """
import atexit, os, signal, sys, bayop.__main__ as program

class Witness:
    def __del__(self):
        os.write(2, b"module taken apart ")

sys.modules["witness"] = Witness()
sys.argv[1:] = ["knobs"]
def end(*_):
    atexit.register(os.write, 2, b"libraries told ")
    if NUMBER:
        os.kill(os.getpid(), NUMBER)
import bayop.cli.knobs as verb
run = verb.run
verb.run = lambda args: end() or run(args)
program.main()
"""


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [
        ("None", 0, "libraries told module taken apart "),
        ("signal.SIGTERM", 143, "libraries told "),
        ("signal.SIGINT", 130, "interrupted\nlibraries told "),
    ],
)
def test_what_a_signal_ended_is_not_taken_apart(number: str, code: int, said: str) -> None:
    """A module written in C that was being loaded can crash then."""
    command = [sys.executable, "-c", WITNESS.replace("NUMBER", number)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (run.returncode, run.stderr) == (code, said)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.weekly)])
@pytest.mark.parametrize(
    ("arguments", "longest_s"),
    [
        (["--help"], 0.1),
        (["tune", "--load", "400k"], 1.5),
        (["sweep", "--load", "400k", "--points", "6", "--processes", "2"], 4.0),
        (["report", "study.csv"], 4.0),
        (["demo", "--hours", "1"], 6.0),
        pytest.param(["app", "start", "memcached", "--port", "27411"], 1.0, marks=pytest.mark.needs("memcached")),
    ],
)
def test_every_verb_may_be_ended_at_any_time(
    arguments: list[str], longest_s: float, number: signal.Signals, tmp_path: Path
) -> None:
    write_study(tmp_path / "study.csv")
    for delay_s in (longest_s * step / TIMES for step in range(TIMES)):
        code, errors = ended(arguments, tmp_path, number, delay_s)
        assert "Traceback" not in errors, f"after {delay_s:.2f} s: {errors}"
        assert "Exception" not in errors, f"after {delay_s:.2f} s: {errors}"
        assert code in (INTERRUPTED if number == signal.SIGINT else TERMINATED), errors
