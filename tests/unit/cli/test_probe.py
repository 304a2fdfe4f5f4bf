"""What `bayop probe` says of requests that failed, and of the server's load."""

from __future__ import annotations

import json

import pytest
from tests.support.load_results import load_result
from tests.support.servers import free_port, memcached_on

from bayop.cli import main, probe
from bayop.load import generator


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({"refused": 206}, "206 of the probe's 206 requests were refused with an error"),
        ({"lost_closed": 200, "lost_timed_out": 6}, "206 of the probe's 206 requests had no answer"),
        (
            {"refused": 2, "lost_closed": 4},
            "of the probe's 206 requests 2 were refused with an error, and 4 had no answer",
        ),
        ({"answered": 0, "intended": 0}, "0 of the probe's 0 requests had no answer"),
    ],
)
def test_an_error_is_told_from_no_answer(
    counts: dict[str, int], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(generator, "run", lambda _: load_result([100.0], **{"intended": 206} | counts))
    assert main(["probe", "redis://h"]) == 2
    assert capsys.readouterr().err == f"error: {said} (redis://h)\n"


def test_the_load_is_what_the_server_says_that_it_has_answered(capsys: pytest.CaptureFixture[str]) -> None:
    with memcached_on(port := free_port()):
        assert main(["probe", f"memcached://127.0.0.1:{port}", "--qps", "1k", "--window", "500ms", "--json"]) == 0
    window = json.loads(capsys.readouterr().out)
    assert 300 < window["qps"] < 1500, "of the probe alone, which takes its time to begin"


def test_a_server_that_counts_nothing_has_no_load(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(generator, "run", lambda _: load_result([100.0]))
    monkeypatch.setattr(probe, "window_of", lambda _: {"event": "window"})
    assert main(["probe", "http://127.0.0.1:9", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"event": "window"}
