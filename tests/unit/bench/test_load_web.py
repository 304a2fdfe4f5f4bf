from __future__ import annotations

from pathlib import Path

import pytest
from bench.load.web import CONTESTS, main


def test_all_are_told_the_same_work(tmp_path: Path) -> None:
    ports = {"http": 1, "http2": 2, "https": 3, "quick": 4, "quick_tls": 5}
    asked = {"http": 1, "http2": 2, "http at its quickest": 4, "https at its quickest": 5}
    for contest in CONTESTS:
        for name, command in contest.generators.items():
            words = command(ports, 8, 4.0, tmp_path)
            port = words[words.index("-s") + 1] if name.startswith("bayop") else words[-1]
            assert f"127.0.0.1:{asked.get(contest.protocol, 3)}" in port
            assert "16" in words
    assert "for request = 1, 8 do" in (tmp_path / "pipeline.lua").read_text(encoding="utf-8")


def test_too_short_a_run_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--duration", "1"])
    assert "argument --duration: must be at least 3, not 1" in capsys.readouterr().err
