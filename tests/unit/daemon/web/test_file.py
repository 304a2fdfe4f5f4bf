"""`[web]`: what is refused, with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from bayop.daemon.file import DaemonFile
from bayop.daemon.web.file import WebFile, tokens_of
from bayop.errors import InputError

SERVICE = '[service.web]\nagent = "unix:/a.sock"\nlatency = "x"\nslo = "p99<1ms"\n'


def read(tmp_path: Path, web: str, lines: str = "alice 0123456789abcdef\n", mode: int = 0o600) -> WebFile | None:
    (tmp_path / "bayop.toml").write_text(f"{web}\n{SERVICE}", encoding="utf-8")
    (tmp_path / "web.token").write_text(lines, encoding="utf-8")
    (tmp_path / "web.token").chmod(mode)
    return DaemonFile.read(tmp_path / "bayop.toml").web


def test_without_a_table_nothing_is_served(tmp_path: Path) -> None:
    assert read(tmp_path, "") is None


def test_a_table_alone_is_for_this_machine(tmp_path: Path) -> None:
    assert read(tmp_path, "[web]") == WebFile("127.0.0.1", 9464, (), None)


def test_everything_may_be_said(tmp_path: Path) -> None:
    web = read(tmp_path, '[web]\nlisten = "[::]:80"\nnames = ["BayOp.example"]\ntoken_file = "web.token"')
    assert web == WebFile("::", 80, ("bayop.example",), tmp_path / "web.token")
    assert web.who("0123456789abcdef") == "alice"
    assert (web.who(""), web.who("0123456789abcdeX"), web.who("ä")) == (None, None, None)
    assert web.url(80) == "http://[::]:80/"


REFUSED = {
    'listen = "0.0.0.0:80"': "must have a token file to be served other than on this machine",
    'listen = "127.0.0.1"': "must be an IP address and a port",
    'listen = "localhost:80"': "must be an IP address and a port",
    'listen = "127.0.0.1:99999"': "must be an IP address and a port",
    "listen = 80": "must be a text",
    'names = ["a b"]': "must be a list of host names",
    'names = "a"': "must be a list of host names",
    'token_file = "none"': "no such file",
    'tokens = "a"': "there is no key 'tokens'",
}


@pytest.mark.parametrize("line", REFUSED)
def test_what_it_can_not_be_is_refused_with_its_line(tmp_path: Path, line: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, f"[web]\n{line}")
    assert REFUSED[line] in str(caught.value)
    assert f"{tmp_path}/bayop.toml:2" in str(caught.value)


@pytest.mark.parametrize(
    ("lines", "mode", "message"),
    [
        ("alice 0123456789abcdef", 0o644, "must be closed to others"),
        ("alice short", 0o600, "must be a name and a token"),
        ("0123456789abcdef", 0o600, "must be a name and a token"),
        ("# nobody\n\n", 0o600, "must have a token"),
    ],
)
def test_a_token_file_that_keeps_no_secret_is_refused(tmp_path: Path, lines: str, mode: int, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path, '[web]\ntoken_file = "web.token"', lines, mode)
    assert "0123456789" not in str(caught.value)


def test_no_token_is_cut(tmp_path: Path) -> None:
    file = tmp_path / "web.token"
    file.touch(0o600)
    file.write_text(f"# {'x' * 65_510}\nalice {'a' * 64}\n", encoding="utf-8")
    with pytest.raises(InputError, match="must have at most 65536 characters"):
        tokens_of(file)


def test_a_folder_is_no_token_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no regular file"):
        tokens_of(tmp_path)
