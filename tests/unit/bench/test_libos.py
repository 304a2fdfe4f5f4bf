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


def test_a_row_is_one_service_on_one_system_at_one_number_of_connections() -> None:
    counted = [("libos", 1, 1000.0), ("linux", 1, 9000.0), ("libos", 1, 3000.0), ("libos", 1, 2000.0)]
    windows = [run.Window("tpcc", system, connections, 1000.0, 3000, each, 0.5) for system, connections, each in counted]
    windows.append(run.Window("memcached", "linux", 1, 1000.0, 3000, 5000.0, 0.5))
    assert run.summary(windows).splitlines()[2:] == [
        "| tpcc | libos | 1 | 1000 | 2,000 | 1,000 to 3,000 | 0.50 |",
        "| tpcc | linux | 1 | 1000 | 9,000 | 9,000 to 9,000 | 0.50 |",
        "| memcached | linux | 1 | 1000 | 5,000 | 5,000 to 5,000 | 0.50 |",
    ]
