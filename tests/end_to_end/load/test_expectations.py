"""`bayop load --expect`: what is missed makes the exit code, a line on stderr and an event."""

from __future__ import annotations

import json

import pytest
from tests.support.servers import load

MET, MISSED = "p50<60s", "p50<1ns"
BRIEF = ["-t", "0.2s", "-w", "0s", "-r", "100", "-B"]
"""Brief runs, whose latencies may be anything: nothing takes a minute, and nothing less than a nanosecond."""


def test_what_is_met_says_nothing(memcached: str) -> None:
    run = load("-s", memcached, "--closed-loop", "--expect", MET, "--expect", "qps>1", *BRIEF, "--json")
    assert (run.returncode, run.stderr) == (0, "")
    *_, result, latency, throughput = map(json.loads, run.stdout.splitlines())
    assert result["event"] == "result"
    assert latency == {
        "event": "expectation", "qps": None, "expectation": MET, "quantity": "p50_us", "limit": 6e7,
        "measured": result["latency"][0]["value_us"], "is_met": True,
    }  # fmt: skip
    assert (throughput["quantity"], throughput["limit"], throughput["measured"]) == ("qps", 1, result["achieved_qps"])


def test_what_is_missed_makes_the_exit_code_and_a_line_each(memcached: str) -> None:
    flags = ["--expect", f"{MISSED},{MET}", "--expect", "qps>200%"]
    run = load("-s", memcached, "-q", "1kqps", *flags, *BRIEF)
    assert run.returncode == 1
    latency, throughput = run.stderr.splitlines()
    assert latency.startswith("expected p50<1ns, but it was ")
    assert throughput.startswith("expected qps>200%, but ")
    assert throughput.endswith(" requests/s of 2,000 were answered")


def test_a_server_that_fails_every_request_answers_none(nginx: str) -> None:
    flags = ["--protocol", "http", "--path", "/busy", "-q", "500", "-t", "0.3s", "-w", "0.3s", "-B"]
    run = load("-s", nginx, *flags, "--expect", "qps>1%", "--json")
    assert (run.returncode, run.stderr) == (1, "expected qps>1%, but 0 requests/s of 5 were answered\n")
    result, _ = map(json.loads, run.stdout.splitlines()[1:])
    assert result["troubles"] == {"HTTP/1.1 503 Service Temporarily Unavailable": result["counts"]["intended"]}
    assert result["counts"]["refused"] == result["counts"]["intended"] > 50
    assert "0 requests/s answered of 500 offered" in load("-s", nginx, *flags).stdout


def test_every_load_of_a_scan_is_compared(memcached: str) -> None:
    run = load("-s", memcached, "--scan", "500:1000:500", "--expect", f"{MISSED},{MET}", *BRIEF, "--json")
    assert run.returncode == 1
    verdicts = [event for event in map(json.loads, run.stdout.splitlines()) if event["event"] == "expectation"]
    assert [(verdict["qps"], verdict["expectation"], verdict["is_met"]) for verdict in verdicts] == [
        (500.0, MISSED, False), (500.0, MET, True), (1000.0, MISSED, False), (1000.0, MET, True),
    ]  # fmt: skip
    assert [line.partition(", but")[0] for line in run.stderr.splitlines()] == [
        "at 500 requests/s: expected p50<1ns", "at 1,000 requests/s: expected p50<1ns",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--search", "99:500us"], "both --expect and --search were given; an expectation must be one of a result"),
        (["--loadonly"], "both --expect and --loadonly were given; an expectation must be one of a result"),
        (["--closed-loop"], "cannot use 'qps>95%': a share must be one of an offered load (--expect)"),
    ],
)
def test_what_no_result_could_show_is_refused_before_anything_is_sent(flags: list[str], message: str) -> None:
    run = load("-s", "127.0.0.1:9", "--expect", "qps>95%", *flags)
    assert run.returncode == 2
    assert run.stderr.splitlines()[0] == f"error: {message}"
