from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing import active_children, util

import pytest

from bayop import __version__
from bayop.errors import BayopError, InputError
from bayop.experiments.sweep.load import Load
from bayop.experiments.sweep.makers import TwinMaker
from bayop.experiments.sweep.plan import Cell, Trial
from bayop.experiments.sweep.trial import Outcome
from bayop.experiments.sweep.workers import Here, Processes

MAKER = TwinMaker.of("linux-memcached", window_s=0.05)


def trial(number: int, delay: float = 50) -> Trial:
    return Trial(number, Cell(number, Load(qps=4e5), {"nic.rx_usecs": delay, "cpu.freq_mhz": 2000}), 1, number)


def test_processes_measure_what_this_one_does() -> None:
    with Here(MAKER, version=__version__) as here:
        here.start(trial(3))
        ((_, expected),) = here.finished()
    outcomes: dict[int, Outcome] = {}
    with Processes(MAKER, 2, version=__version__) as processes:
        for number in (1, 2, 3):
            processes.start(trial(number))
        while len(outcomes) < 3:
            outcomes |= {ended.number: outcome for ended, outcome in processes.finished()}
    assert outcomes[3] == expected
    assert not active_children()


def test_what_a_trial_objects_to_arrives_as_it_was_said() -> None:
    with Processes(MAKER, 1, version=__version__) as processes:
        processes.start(trial(1, delay=3))
        with pytest.raises(InputError) as caught:
            processes.finished()
    assert caught.value.rule == "nic.rx_usecs must be 2us to 1022us in steps of 2us, or auto"
    assert caught.value.value == 3
    assert not active_children()


def test_a_process_that_is_killed_is_told_of() -> None:
    slow = TwinMaker.of("linux-memcached", window_s=600.0)
    with Processes(slow, 1, version=__version__) as processes:
        processes.start(trial(1))
        (worker,) = active_children()
        os.kill(worker.pid or 0, signal.SIGKILL)
        with pytest.raises(BayopError, match="a process of the sweep was killed") as caught:
            processes.finished()
    assert caught.value.hint is not None
    assert "the same command" in caught.value.hint


def test_an_error_does_not_wait_for_trials_that_still_run() -> None:
    slow = TwinMaker.of("linux-memcached", window_s=600.0)

    def interrupted() -> None:
        with Processes(slow, 1, version=__version__) as processes:
            processes.start(trial(1))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not active_children()


def test_ctrl_c_waits_until_a_process_has_begun(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    spawn, children = util.spawnv_passfds, []

    def interrupted(path: bytes, arguments: Sequence[str], descriptors: Sequence[int]) -> int:
        children.append(spawn(path, arguments, descriptors))
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        return children[-1]

    monkeypatch.setattr(util, "spawnv_passfds", interrupted)
    over = threading.Event()
    # The kernel gives the signal to whichever thread takes it.
    other = threading.Thread(target=over.wait)
    other.start()
    try:
        with Processes(MAKER, 1, version=__version__) as processes, pytest.raises(KeyboardInterrupt):
            processes.start(trial(1))
    finally:
        over.set()
        other.join()
    for child in children:
        with suppress(ChildProcessError):
            os.waitpid(child, 0)
    assert capfd.readouterr().err == ""
