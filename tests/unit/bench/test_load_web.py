from __future__ import annotations

from pathlib import Path

import pytest
from bench.load.web import GENERATORS, Row, main, table


def test_a_generator_is_compared_within_each_round() -> None:
    rows = [
        Row("http", 16, 1, "bayop", 300.0, 9.0),
        Row("http", 16, 1, "wrk", 200.0, 2.0),
        Row("http", 16, 2, "bayop", 900.0, 9.0),
        Row("http", 16, 2, "wrk", 300.0, 4.0),
    ]
    assert table(rows).splitlines()[2:] == [
        "| http | 16 | bayop | 600 | 1.00 (1.00 to 1.00) x | 9.00 us |",
        "| http | 16 | wrk | 250 | 2.25 (1.50 to 3.00) x | 3.00 us |",
    ]


def test_all_are_told_the_same_work(tmp_path: Path) -> None:
    ports = {"http": 1, "http2": 2, "https": 3}
    for protocol, generators in GENERATORS.items():
        for name, command in generators.items():
            words = command(ports, 8, 4.0, tmp_path)
            port = words[words.index("-s") + 1] if name.startswith("bayop") else words[-1]
            assert f"127.0.0.1:{ {'http': 1, 'http2': 2}.get(protocol, 3) }" in port
            assert "16" in words
    assert "for request = 1, 8 do" in (tmp_path / "pipeline.lua").read_text(encoding="utf-8")


def test_too_short_a_run_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--duration", "1"])
    assert "--rounds must be at least 1, and --duration 3" in capsys.readouterr().err
