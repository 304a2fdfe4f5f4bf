"""What `bayop load` refuses before it sends anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from bayop.cli import main

NOBODY = ["load", "-s", "127.0.0.1:9", "-q", "1k"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([*NOBODY, "--save", "nowhere/x.csv"], "cannot write nowhere/x.csv: there is no folder nowhere (--save)"),
        ([*NOBODY, "--hgrm", "."], "cannot write .: it is a folder (--hgrm)"),
        ([*NOBODY[:3], "--scan", "1k:2k:1k", "--save", "x.csv"], "both --save and --scan were given"),
        ([*NOBODY[:3], "--search", "99:50us", "--hgrm", "x"], "both --hgrm and --search were given"),
        ([*NOBODY, "--scan", "1k:2k:1k"], "both --qps and --scan were given"),
        ([*NOBODY, "--path", "/x"], "--path was given with --protocol memcached"),
        ([*NOBODY, "--peak", "1k"], "--peak was given without --curve"),
        ([*NOBODY, "--hours", "3"], "--hours was given without --curve"),
        ([*NOBODY, "-Q", "1k"], "-Q was given without --with-agent"),
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
