"""The compiled extension as Python sees it: errors, pickling, threads, interruption."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from importlib.resources import files

import pytest

from bayop import _core

TEXT = (files("bayop.twin") / "profiles" / "linux_memcached.toml").read_text()
PROFILE = _core.Profile(TEXT, "linux_memcached.toml")


def test_an_error_carries_its_parts_and_survives_pickling() -> None:
    with pytest.raises(_core.Error) as caught:
        _core.Profile(TEXT.replace("exit_latency_us = 2 ", "exit_latency_ms = 0.002 "), "mine.toml")
    error = caught.value
    assert str(error).startswith("there is no key exit_latency_ms (mine.toml, line ")
    assert (error.value, error.hint) == ("exit_latency_ms", "did you mean exit_latency_us?")
    assert pickle.loads(pickle.dumps(error)).wrong == error.wrong  # noqa: S301 - our own bytes


@pytest.mark.parametrize(
    "run",
    [
        {"qps": -1.0},
        {"qps": float("nan")},
        {"qps": 1000.0, "set": 3},
        {"qps": 1000.0, "setting": {"nic.rx_usecs": 5000.0}},
        {"qps": 1000.0, "setting": {"cpu.boost": 1.0}},
        {"qps": 1000.0, "setting": {"power.cap_w": 5.0}},
        {"qps": 1000.0, "requests": 10, "duration_s": 1.0},
    ],
)
def test_bad_runs_are_refused(run: _core.Run) -> None:
    with pytest.raises(_core.Error):
        _core.simulate(PROFILE, [run])


def test_profiles_pickle_and_take_other_values() -> None:
    assert pickle.loads(pickle.dumps(PROFILE)) == PROFILE  # noqa: S301 - our own bytes
    changed = PROFILE.with_values({"machine.cores": 8, "os.idle_governor": "deepest"})
    assert changed.serving_cores == 8
    assert changed != PROFILE
    assert changed.values()["machine.cores"] == 8.0


def test_results_come_in_order_for_any_number_of_threads() -> None:
    runs: list[_core.Run] = [{"qps": 1e5 * (1 + i % 3), "requests": 5000, "seed": i} for i in range(9)]
    assert _core.simulate(PROFILE, runs) == _core.simulate(PROFILE, runs, threads=4)


def test_ctrl_c_interrupts_a_long_batch() -> None:
    sent = []

    def interrupt() -> None:
        time.sleep(0.2)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        _core.simulate(PROFILE, [{"qps": 6e5, "duration_s": 1e5}] * 2, threads=2)
    assert time.monotonic() - sent[0] < 2.0  # about 20 ms on an idle machine
