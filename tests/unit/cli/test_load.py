"""What `bayop load` makes of its flags, and what it refuses before it sends anything."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.load_results import load_result

from bayop import _core
from bayop.cli import main
from bayop.cli.load import display
from bayop.load import generator
from bayop.load.generator import Result
from bayop.load.plan import Plan, Replay

NOBODY = ["load", "-s", "127.0.0.1:9", "-q", "1k"]
SERVER = NOBODY[:3]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([*NOBODY, "--save", "nowhere/x.csv"], "cannot write nowhere/x.csv: there is no folder nowhere (--save)"),
        ([*NOBODY, "--hgrm", "."], "cannot write .: it is a folder (--hgrm)"),
        ([*SERVER, "--scan", "1k:2k:1k", "--save", "x.csv"], "both --save and --scan were given"),
        ([*SERVER, "--search", "99:50us", "--hgrm", "x"], "both --hgrm and --search were given"),
        ([*NOBODY, "--scan", "1k:2k:1k"], "both --qps and --scan were given; a scan must have its own loads"),
        (
            [*NOBODY, "--curve", "twitter", "--peak", "5k"],
            "both --qps and --curve were given; a curve must have its own loads and hours",
        ),
        ([*SERVER, "--curve", "twitter", "--peak", "5k", "-t", "9s"], "both --time and --curve were given"),
        ([*NOBODY, "--replay", "x.csv"], "both --qps and --replay were given; a replay must have its own times"),
        ([*SERVER, "--replay", "x.csv", "-i", "fixed"], "both --iadist and --replay were given"),
        ([*SERVER, "--closed-loop", "-i", "fixed"], "both --iadist and --closed-loop were given"),
        ([*NOBODY, "--path", "/x"], "--path was given with --protocol memcached"),
        ([*SERVER, "--replay", "x.csv", "--path", "/x"], "--path was given with --protocol memcached"),
        ([*NOBODY, "--protocol", "http", "-u", "10%"], "--update was given with --protocol http"),
        ([*NOBODY, "--protocol", "http", "-V", "1000"], "--valuesize was given with --protocol http"),
        ([*NOBODY, "--protocol", "echo", "-K", "20"], "--keysize was given with --protocol echo"),
        ([*NOBODY, "--protocol", "http2", "--workload", "etc"], "--workload was given with --protocol http2"),
        ([*NOBODY, "--protocol", "grpc"], "the path of a call must be /package.Service/Method (--path)"),
        ([*NOBODY, "--peak", "1k"], "--peak was given without --curve"),
        ([*NOBODY, "--hours", "3"], "--hours was given without --curve"),
        ([*NOBODY, "--hour", "3s"], "--hour was given without --curve"),
        ([*NOBODY, "-Q", "1k"], "-Q was given without --with-agent"),
        ([*NOBODY, "--insecure"], "--insecure was given without --tls; --insecure must go with --tls"),
        ([*NOBODY, "--cacert", "x"], "--cacert was given without --tls; --cacert must go with --tls"),
        (
            [*NOBODY, "--tls", "--insecure", "--cacert", "x"],
            "both --cacert and --insecure were given; a certificate must be looked at, or not",
        ),
        (
            [*SERVER, "--replay", "x.csv", "-a", "h"],
            "both --replay and --with-agent were given; several machines must send what a random process says",
        ),
        ([*SERVER, "-q", "0", "-i", "fixed"], "both --iadist and --qps 0 were given"),
        ([*NOBODY, "--hgrm", "x", "--save", "./x"], "--hgrm and --save are one file; what is written must have"),
        (["load", "--replay", "x.csv"], "no server is named (--server)"),
        (["load", "--agent", "--listen", "8.8.8.8"], "cannot listen on 8.8.8.8"),
        (["load", "--agent", "--listen", "127.0.0.1:99999"], "(--listen)"),
    ],
)
def test_what_can_not_be_meant_sends_nothing(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["--protocol", "https"], "there is no protocol 'https' (--protocol)", "--protocol http --tls"),
        (["--protocol", "rediss"], "there is no protocol 'rediss' (--protocol)", "--protocol redis --tls"),
        (["--protocol", "htp"], "there is no 'htp' (--protocol)", "did you mean http?"),
        (["-s", "https://h"], "a server must be HOST[:PORT] (--server)", "-s h --protocol http --tls"),
        (["-s", "HTTP://h:8080/a?b"], "(--server)", "-s h:8080 --protocol http --path /a?b"),
        (["-s", "tcp://h"], "(--server)", "-s h"),
    ],
)
def test_a_server_by_its_url_is_told_the_flags(
    words: list[str], message: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*NOBODY, *words]) == 2
    error, told = capsys.readouterr().err.splitlines()
    assert message in error
    assert told.startswith(f"hint: {hint}")


@pytest.mark.parametrize("flag", ["--hgrm", "--save"])
def test_no_file_is_overwritten(flag: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").write_text("mine", encoding="utf-8")
    assert main([*NOBODY, flag, str(tmp_path / "mine")]) == 2
    assert f"mine is there already; a file must not be overwritten ({flag})" in capsys.readouterr().err
    assert (tmp_path / "mine").read_text(encoding="utf-8") == "mine"


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[str]], Plan]:
    """What is planned for some flags; nothing is sent."""
    plans: list[Plan] = []

    def run(plan: Plan) -> Result:
        plans.append(plan)
        return load_result([100.0])

    monkeypatch.setattr(generator, "run", run)

    def planned(words: list[str]) -> Plan:
        assert main([*SERVER, "--noload", "--json", *words]) == 0
        return plans.pop()

    return planned


def test_a_measurement_lasts_five_seconds_after_one(planned: Callable[[list[str]], Plan]) -> None:
    plan = planned(["-q", "1k"])
    assert (plan.warmup_s, plan.duration_s) == (1.0, 5.0)
    plan = planned(["-q", "1k", "-w", "0s", "-t", "2s"])
    assert (plan.warmup_s, plan.duration_s) == (0.0, 2.0)
    plan = planned(["--curve", "twitter", "--peak", "1k", "--hours", "3"])
    assert (plan.warmup_s, plan.duration_s) == (1.0, 180.0)


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two requests a second for 20 s, the first at once and the last at 19.5 s."""
    monkeypatch.chdir(tmp_path)
    Path("trace.csv").write_text("".join(f"{at / 2:g},k,3,10,1,get,0\n" for at in range(40)), encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "plan", "told"),
    [
        ([], (40, 0.0, 20.0), ""),
        (["-t", "60s"], (40, 0.0, 20.0), ""),
        (["-w", "5s"], (40, 5.0, 15.0), "30 of 40 requests in trace.csv are measured; 10 before them are warm-up"),
        (
            ["-t", "6s"],
            (12, 0.0, 6.0),
            "12 of 40 requests in trace.csv are measured; what comes after 6 s is left out",
        ),
        (
            ["-w", "1s", "-t", "5s"],
            (12, 1.0, 5.0),
            (
                "10 of 40 requests in trace.csv are measured; 2 before them are warm-up, "
                "and what comes after 6 s is left out"
            ),
        ),
    ],
)
@pytest.mark.usefixtures("trace")
def test_a_whole_trace_is_measured_and_what_is_not_is_told(
    words: list[str],
    plan: tuple[int, float, float],
    told: str,
    planned: Callable[[list[str]], Plan],
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = planned(["--replay", "trace.csv", *words])
    assert isinstance(found.schedule, Replay)
    assert (len(found.schedule.times_s), found.warmup_s, found.duration_s) == pytest.approx(plan)
    assert capsys.readouterr().err == (told and f"{told}\n")


@pytest.mark.usefixtures("trace")
def test_a_warm_up_leaves_something_of_a_trace(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SERVER, "--replay", "trace.csv", "-w", "20s"]) == 2
    assert "cannot use 20.0: a warm-up must be shorter than the trace (20 s) (--warmup)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"HOUR": "3s", "PEAK": "9k", "HOURS": "2", "THINK_TIME": "1s", "CACERT": "nowhere"}, ["-q", "10"]),
        ({"INSECURE": "1", "WORKLOAD": "etc", "MEASURE_QPS": "3"}, ["-q", "10", "--protocol", "echo"]),
        ({"DURATION": "3s", "QPS": "3"}, ["--curve", "twitter", "--peak", "5k", "--hours", "2"]),
        ({"QPS": "3", "IADIST": "fixed"}, ["--closed-loop"]),
        ({"METHOD": "PUT", "BODY": "nowhere", "MIX": "nowhere", "USER": "me", "QUERY": "SELECT 2"}, ["-q", "10"]),
        (
            {"HEADER": "A: b", "KEYSIZE": "20", "UPDATE": "10%", "VALUESIZE": "9"},
            ["-q", "10", "--protocol", "postgresql"],
        ),
    ],
)
def test_what_nobody_typed_may_be_of_no_use(
    variables: dict[str, str], words: list[str], planned: Callable[[list[str]], Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = planned(words)
    for name, value in variables.items():
        monkeypatch.setenv(f"BAYOP_{name}", value)
    plan = planned(words)
    assert (plan.schedule, plan.duration_s, plan.tls) == (plain.schedule, plain.duration_s, plain.tls)
    assert plan.workload == plain.workload


def test_what_is_typed_is_refused_whatever_the_defaults_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BAYOP_HOUR", "3s")
    assert main([*NOBODY, "--hour", "4s"]) == 2
    monkeypatch.setenv("BAYOP_INSECURE", "1")
    assert main([*NOBODY, "--tls", "--cacert", "mine"]) == 2
    said = capsys.readouterr().err
    assert "--hour was given without --curve" in said
    assert "both --cacert and --insecure were given" in said


def test_a_machine_that_trusts_nobody_is_told_the_flags(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "nothing.pem"))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    assert main([*NOBODY, "--tls"]) == 4
    error, hint = capsys.readouterr().err.splitlines()
    assert error == "error: this machine trusts no certificate authority (--cacert)"
    assert hint.startswith("hint: --cacert FILE says who")


def test_a_search_from_nothing_is_an_open_loop(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SERVER, "-q", "0", "--search", "99:1ms", "-i", "fixed", "--noload"]) == 1
    assert "cannot connect to 127.0.0.1:9" in capsys.readouterr().err


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Result], tuple[int, list[str]]]:
    """How a run with that result ends that is to write both files, and what it has written."""

    def written(result: Result) -> tuple[int, list[str]]:
        monkeypatch.setattr(generator, "run", lambda _: result)
        files = ["--hgrm", str(tmp_path / "a"), "--save", str(tmp_path / "b")]
        return main([*NOBODY, "--noload", *files]), sorted(path.name for path in tmp_path.iterdir())

    return written


def interrupted(latencies_us: list[float]) -> Result:
    result = load_result(latencies_us)
    seen = json.loads(result.report.to_json()) | {"interrupted": True}
    return Result(_core.LoadReport.from_json(json.dumps(seen)), result.offered_qps)


def test_what_is_seen_is_printed_before_it_is_written(
    written: Callable[[Result], tuple[int, list[str]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def someone_comes_first(plan: Plan, result: Result) -> None:
        show_result(plan, result)
        (tmp_path / "b").touch()

    show_result = display.show_result
    monkeypatch.setattr(display, "show_result", someone_comes_first)
    assert written(load_result([100.0])) == (2, ["b"])
    out, error = capsys.readouterr()
    assert "p99" in out
    assert "b is there already" in error


def test_files_are_written_when_there_was_something_to_see(
    written: Callable[[Result], tuple[int, list[str]]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert written(interrupted([])) == (130, [])
    assert written(interrupted([100.0])) == (130, ["a", "b"])
    assert "interrupted" in capsys.readouterr().err
