from __future__ import annotations

import subprocess
import sys

import pytest
from bench.libos import run

from bayop.errors import BayopError


def test_a_load_that_has_ended_is_an_error() -> None:
    with subprocess.Popen([sys.executable, "-c", "print('no server')"], stdout=subprocess.PIPE) as load:
        load.wait()
        with pytest.raises(BayopError, match="ended early: no server"):
            run.must_run(load)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as load:
        run.must_run(load)
        load.kill()


def test_an_error_without_a_hint_has_none(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(*_: object) -> None:
        raise BayopError(wrong="it does not start")

    monkeypatch.setattr(run, "count", fail)
    assert run.main([]) == 1
    assert capsys.readouterr().err == "error: it does not start\n"
