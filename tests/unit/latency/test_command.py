from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path

import pytest
from tests.support.processes import lives

from bayop.errors import DriftError, InputError
from bayop.latency.base import Vantage, Window
from bayop.latency.command import LatencyCommand

WINDOW = Window({"nic.rx_usecs": 50, "idle.governor": "menu"}, 0.05)


def printing(text: str) -> str:
    return shlex.join(["printf", "%s", text])


def python(code: str) -> str:
    return shlex.join([sys.executable, "-c", code])


def test_it_says_what_the_command_prints() -> None:
    source = LatencyCommand(printing('{"vantage": "probe", "p50_us": 80, "p999_us": 1000}'))
    latency = source.measure(WINDOW, sleep=time.sleep)
    assert latency.vantage is Vantage.PROBE
    assert latency.quantities == {"p50_us": 80.0, "p999_us": 1000.0}


def test_the_command_knows_the_window_and_the_setting() -> None:
    code = (
        "import json, os\n"
        "setting = json.loads(os.environ['BAYOP_SETTING'])\n"
        "assert setting['idle.governor'] == 'menu'\n"
        "qps = setting['nic.rx_usecs'] * float(os.environ['BAYOP_WINDOW_S'])\n"
        "print(json.dumps({'vantage': 'client', 'p99_us': 300, 'qps': qps}))"
    )
    assert LatencyCommand(python(code)).measure(WINDOW, sleep=time.sleep).quantities["qps"] == pytest.approx(2.5)


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        ("", "one JSON object and nothing else"),
        ("310.5", "one JSON object"),
        ("[]", "one JSON object"),
        ('{"p99_us": 3} {"p99_us": 4}', "one JSON object"),
        ('{"p99_us": 3}', "the command must say where it measured (latency command printf, vantage)"),
        (
            '{"vantage": "moon", "p99_us": 3}',
            "cannot use 'moon': the command must say where it measured (latency command printf, vantage)",
        ),
        ('{"vantage": "client"}', "cannot use []: the command must print a latency quantile (latency command printf)"),
        (
            '{"vantage": "client", "qps": 3}',
            "cannot use ['qps']: the command must print a latency quantile (latency command printf)",
        ),
        ('{"vantage": "client", "p99_ms": 3}', "'p99_ms' is no quantity of a window (latency command printf)"),
        (
            '{"vantage": "client", "p99_us": NaN}',
            "NaN}': a number is not finite; the command must print one JSON object and nothing else",
        ),
        (
            '{"vantage": "client", "p99_us": 1e999}',
            "1e999}': a number is not finite; the command must print one JSON object and nothing else",
        ),
        (
            '{"vantage": "client", "p99_us": null}',
            "p99_us is null; a latency or a load must be a positive number (latency command printf, p99_us)",
        ),
        (
            '{"vantage": "client", "p99_us": 0}',
            "cannot use 0: a latency or a load must be a positive number (latency command printf, p99_us)",
        ),
        (
            '{"vantage": "client", "p99_us": "3"}',
            "cannot use '3': a latency or a load must be a positive number (latency command printf, p99_us)",
        ),
        (
            '{"vantage": "client", "p99_us": true}',
            "cannot use True: a latency or a load must be a positive number (latency command printf, p99_us)",
        ),
    ],
)
def test_anything_else_is_refused(printed: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        LatencyCommand(printing(printed)).measure(WINDOW, sleep=time.sleep)
    assert said in caught.value.message
    assert "latency command printf" in caught.value.message


def test_the_servers_own_view_alone_is_refused_with_the_reason() -> None:
    with pytest.raises(InputError, match="what clients see") as caught:
        LatencyCommand(printing('{"vantage": "server", "p99_us": 3}')).measure(WINDOW, sleep=time.sleep)
    assert "wait for its interrupt" in str(caught.value.hint)
    both = LatencyCommand(printing('{"vantage": "server+wait", "p99_us": 3}')).measure(WINDOW, sleep=time.sleep)
    assert both.vantage is Vantage.SERVER_AND_WAIT


def test_a_command_that_fails_is_quoted() -> None:
    with pytest.raises(InputError, match="the command ended with exit code 3") as caught:
        LatencyCommand("sh -c 'echo first >&2; echo no such host >&2; exit 3'").measure(WINDOW, sleep=time.sleep)
    assert caught.value.hint == "no such host"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("", "a command must not be empty"),
        ("  ", "a command must not be empty"),
        ("sh -c 'x", "a command must be words as a shell splits them"),
    ],
)
def test_what_is_no_command(command: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        LatencyCommand(command)


def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    for command in ("/nowhere/p99.sh", str(tmp_path)):
        with pytest.raises(InputError, match=f"cannot run {command}"):
            LatencyCommand(command).measure(WINDOW, sleep=time.sleep)


def test_a_command_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    command = shlex.join(["sh", "-c", f"sleep 60 & echo $! > {file}; wait"])
    with pytest.raises(InputError, match=r"the command was still running 0\.3 s after its window"):
        LatencyCommand(command, grace_s=0.3).measure(WINDOW, sleep=time.sleep)
    assert not lives(int(file.read_text()))


LINE = '{"vantage": "client", "p99_us": %d}'


def test_what_it_prints_meanwhile_is_recent_and_the_last_line_is_the_window() -> None:
    script = f"echo '{LINE % 300}'; sleep 0.4; echo '{LINE % 400}'"
    source, recent = LatencyCommand(shlex.join(["sh", "-c", script])), list[float]()

    def sleep(duration_s: float) -> None:
        time.sleep(duration_s)
        seen = source.recent()
        recent.extend([] if seen is None else [seen.quantities["p99_us"]])

    assert source.measure(Window({}, 0.4), sleep=sleep).quantities == {"p99_us": 400.0}
    assert recent[0] == 300.0
    assert source.recent() is not None


@pytest.mark.parametrize(
    "script",
    [f"echo '{LINE % 300}'", f"echo '{LINE % 300}'; sleep 0.2", 'printf \'{\n"vantage": "client",\n"p99_us": 300}\n\''],
)
def test_a_single_answer_is_nothing_recent(script: str) -> None:
    source = LatencyCommand(shlex.join(["sh", "-c", script]))
    assert source.measure(WINDOW, sleep=time.sleep).quantities == {"p99_us": 300.0}
    assert source.recent() is None


def test_a_measurement_that_lost_its_meaning_ends_the_command(tmp_path: Path) -> None:
    file = tmp_path / "pid"

    def sleep(duration_s: float) -> None:
        time.sleep(duration_s)
        if file.exists() and file.read_text():
            raise DriftError("the lease is lost")

    with pytest.raises(DriftError):
        LatencyCommand(shlex.join(["sh", "-c", f"echo $$ > {file}; sleep 60"])).measure(WINDOW, sleep=sleep)
    assert not lives(int(file.read_text()))
