"""What `bayop probe` says of requests that failed."""

from __future__ import annotations

import pytest
from tests.support.load_results import load_result

from bayop.cli import main
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
