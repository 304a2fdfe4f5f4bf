from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.daemon.test_services import FILE

from bayop.daemon.file import DaemonFile
from bayop.daemon.notices.terms import Notify
from bayop.errors import BayopError


def notify(tmp_path: Path, lines: str) -> Notify | None:
    path = tmp_path / "bayop.toml"
    path.write_text(f"{lines}\n{FILE.format(name='web')}", encoding="utf-8")
    return DaemonFile.read(path).notify


def test_what_is_left_out(tmp_path: Path) -> None:
    assert notify(tmp_path, "") is None
    told = notify(tmp_path, '[notify]\nurl = "https://hooks.example.com/T0/secret"')
    assert told == Notify("https://hooks.example.com/T0/secret", ("trouble", "fell-back", "halted"), None)
    assert told.host == "hooks.example.com"


def test_a_token_is_read_anew(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.touch(mode=0o600)
    token.write_text("one\n", encoding="ascii")
    told = notify(tmp_path, '[notify]\nurl = "https://a/"\nevents = ["stop"]\ntoken_file = "token"')
    assert told is not None
    assert (told.events, told.token()) == (("stop",), "one")
    token.write_text("two", encoding="ascii")
    assert told.token() == "two"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("", "has no url"),
        ('url = "ftp://a/secret"', "must be an address that begins with http"),
        ('url = "https:///secret"', "must be an address"),
        ('url = "https://me:secret@a/"', "must be an address"),
        ('url = "https://a:x/secret"', "must be an address"),
        ('url = "https://a/\\nsecret"', "must be an address"),
        ('url = "https://a/"\nevents = []', "must be a list of events"),
        ('url = "https://a/"\nevents = ["troubles"]', "there is no event 'troubles'"),
        ('url = "https://a/"\nevents = ["not-notified"]', "there is no event"),
        ('url = "https://a/"\ntoken_file = "none"', "cannot read"),
        ('url = "https://a/"\ntoken_file = "open"', "must be closed to others"),
        ('url = "https://a/"\ntoken_file = "empty"', "must have one token"),
        ('url = "http://a/"\ntoken_file = "good"', "must begin with https:// for a token"),
        ('url = "https://a/"\nretries = 3', "retries"),
    ],
)
def test_what_is_wrong_is_said_without_secrets(tmp_path: Path, lines: str, said: str) -> None:
    (tmp_path / "open").touch(mode=0o644)
    (tmp_path / "empty").touch(mode=0o600)
    (tmp_path / "good").touch(mode=0o600)
    (tmp_path / "good").write_text("one", encoding="ascii")
    with pytest.raises(BayopError, match=said) as caught:
        notify(tmp_path, f"[notify]\n{lines}")
    assert "secret" not in f"{caught.value.message} {caught.value.hint}"
