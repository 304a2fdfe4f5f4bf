from __future__ import annotations

import sys
from typing import Self

import pytest

from lab import libos


class Faulty:
    console = "ready: Hello on 10.0.2.15:80\nerror: exception, frame [0, 0, 0]\n"

    def __init__(self, words: str) -> None:
        assert words == "app=hello"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def address(self, port: int) -> str:
        return f"127.0.0.1:{port}"

    def wait(self) -> None:
        pass


def test_a_fault_of_the_machine_is_an_error_with_its_last_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(libos, "LibraryOs", Faulty)
    monkeypatch.setattr(sys, "argv", ["lab.libos", "app=hello"])
    assert libos.main() == 1
    assert capsys.readouterr().err == (
        "error: the machine has ended; its last line: error: exception, frame [0, 0, 0]\n"
    )
