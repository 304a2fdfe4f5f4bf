"""What `bayop libos` prints and refuses; what it boots is in tests/end_to_end/libos."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Self

import pytest
from bench.libos import count
from bench.libos.count import Window
from bench.libos.plan import Point
from jsonschema import Draft202012Validator
from tests.support.schemas import closed

from bayop.cli import main
from bayop.cli.libos import run_, sources
from bayop.events.library_os import BOOTED, COUNTED
from lab import libos

Capture = pytest.CaptureFixture[str]


class Faulty:
    """A machine that starts, and then meets a fault."""

    console = "ready: Hello on 10.0.2.15:80\nerror: exception, frame [0, 0, 0]\n"
    service = libos.SERVICES["hello"]

    def __init__(self, words: str, *, nic: str, inside: Sequence[str]) -> None:
        assert not inside
        app, wait, *beside = words.split()
        assert (app, wait, nic) == ("app=hello", "wait=poll", "virtio-net")
        self.agent = "http://127.0.0.1:49617" if "agent=on" in beside else None
        self.udp = "127.0.0.1:411211" if "udp=on" in beside else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def address(self, port: int) -> str:
        return f"127.0.0.1:4{port}"

    def wait(self) -> None:
        pass


def test_a_machine_says_where_it_serves_and_its_fault_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(libos, "LibraryOs", Faulty)
    fault = "error: the machine has ended; its last line: error: exception, frame [0, 0, 0]\n"
    assert main(["libos", "run", "app=hello", "wait=poll"]) == 1
    output = capsys.readouterr()
    assert "hello listens on 127.0.0.1:480; Ctrl-C ends the machine." in output.out
    assert "bayop load -s 127.0.0.1:480 --protocol http --closed-loop -c 8" in output.out
    assert output.err == fault
    assert main(["libos", "run", "app=hello", "wait=poll", "--json"]) == 1
    listening = json.loads(capsys.readouterr().out.splitlines()[0])
    Draft202012Validator(closed(BOOTED.schema())).validate(listening)
    found = {"name": "hello", "server": "127.0.0.1:480", "protocol": "http"}
    assert listening == {"event": "listening", **found}
    assert main(["libos", "run", "app=hello", "wait=poll", "udp=on", "agent=on", "--json"]) == 1
    listening = json.loads(capsys.readouterr().out.splitlines()[0])
    Draft202012Validator(closed(BOOTED.schema())).validate(listening)
    assert listening == {"event": "listening", **found, "udp": "127.0.0.1:411211", "agent": "http://127.0.0.1:49617"}
    assert main(["libos", "run", "app=hello", "wait=poll", "udp=on", "agent=on"]) == 1
    said = capsys.readouterr().out
    assert "it takes datagrams (UDP) on 127.0.0.1:411211" in said
    assert "its agent is http://127.0.0.1:49617" in said


def test_every_nic_that_a_machine_may_have_can_be_asked_for() -> None:
    assert tuple(libos.NICS) == run_.NICS


def counted(points: Sequence[Point], **_: Any) -> Iterator[Window]:
    for point in points:
        for instructions in (1000.0, 3000.0, 2000.0):
            for system in point.systems:
                layers = {"tcp": 0.75 * instructions, "rest": 0.25 * instructions} if system == "libos" else {}
                yield Window(point.app, system, point.connections, point.qps, 3000, instructions, 1.0, 0.5, layers)


def test_each_service_system_number_of_connections_and_load_is_a_row(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(count, "count", counted)
    words = ["libos", "bench", "--apps", "tpcc", "--connections", "1,64", "--systems", "linux,libos", "--repeats", "3"]
    words += ["--qps", "1k,2kqps"]
    assert main([*words, "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["connections"], row["qps"], row["system"]) for row in rows] == list(
        product((1, 64), (1000, 2000), ("libos", "linux"))
    )
    for row in rows:
        Draft202012Validator(closed(COUNTED.schema())).validate(row)
        assert [row[f"instructions_{which}"] for which in ("per_request", "least", "greatest")] == [2000, 1000, 3000]
        layers = {"layers": {"tcp": 1500.0, "rest": 500.0}} if row["system"] == "libos" else {}
        assert {name: row[name] for name in ("layers",) if name in row} == layers
    assert main(words) == 0
    assert "2,000" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (["--apps", "hello"], "names must be of memcached, tpcc"),
        (["--systems", ""], "names must be of libos, smoltcp, linux, linux-tuned"),
        (["--connections", "0"], "(--connections)"),
        (["--qps", "1k,"], "(--qps)"),
        (["--apps", "tpcc", "--systems", "linux"], "of tpcc the whole has nothing on linux"),
        (["--repeats", "0"], "(--repeats)"),
        (["--window", "0s"], "(--window)"),
    ],
)
def test_what_can_not_be_counted_is_refused(words: list[str], rule: str, capsys: Capture) -> None:
    assert main(["libos", "bench", *words]) == 2
    assert rule in capsys.readouterr().err


def test_without_the_sources_there_is_no_library_os(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture
) -> None:
    monkeypatch.setattr(sources, "__file__", str(tmp_path / "a/b/c/d/e/sources.py"))
    assert main(["libos", "run"]) == 4
    assert "the library OS is built from BayOp's sources" in capsys.readouterr().err
