from __future__ import annotations

from pathlib import Path

import pytest

from bayop.cli import main


@pytest.mark.parametrize("verb", ["live", "day"])
def test_an_agent_that_is_not_there_is_one_that_this_machine_lacks(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main([verb, "--out", str(tmp_path / "out")]) == 4
    error = capsys.readouterr().err
    assert "the agent must be a program on the path, or a file that can be run (--agent-program)" in error
    assert f"hint: make {verb} builds and names it\n" in error
