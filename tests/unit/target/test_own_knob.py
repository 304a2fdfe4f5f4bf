"""A knob of one's own: set, put back, and put back when something goes wrong, each time with real commands."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.processes import lives

from bayop import Choices, Knob, OwnKnobTarget, Setting, Steps, Target, tune
from bayop.domains import Value
from bayop.errors import BayopError, DriftError, InputError
from bayop.measurement import Measurement
from bayop.testing.fakes import FakeServer

THREADS = Knob("app.threads", Choices((2, 4, 8)))
FAST: Setting = {"nic.rx_usecs": 2, "cpu.freq_mhz": 2900}


class Pool:
    """What a function sets, and how often; it fails, or is interrupted, when it is told so."""

    def __init__(self, *failures: BaseException | None) -> None:
        self.values: list[Value] = []
        self.failures = list(failures)

    def set_to(self, value: Value) -> None:
        failure = self.failures.pop(0) if self.failures else None
        if failure is not None:
            raise failure
        self.values.append(value)


class Failing(FakeServer):
    """A server that can't measure, or not be put back."""

    measuring: BaseException | None = None
    restoring: tuple[BaseException | None, ...] = ()

    def measure(self) -> Measurement:
        if self.measuring is not None:
            raise self.measuring
        return super().measure()

    def restore(self) -> None:
        failure, *rest = (*self.restoring, None)
        self.restoring = tuple(rest)
        if failure is not None:
            raise failure
        super().restore()


def with_threads(
    set_to: Callable[[Value], object] | str, target: Target | None = None, *, before: Value = 6, limit_s: float = 5.0
) -> OwnKnobTarget:
    return OwnKnobTarget(target or FakeServer(), THREADS, set_to, before=before, limit_s=limit_s)


def writing(file: Path) -> str:
    return f"sh -c 'echo $BAYOP_VALUE >>{file}'"


def test_the_space_has_one_knob_more_which_can_be_left_alone() -> None:
    target = with_threads(Pool().set_to)
    assert target.space.ids == ("nic.rx_usecs", "cpu.freq_mhz", "app.threads")
    assert target.space["app.threads"].values() == (2, 4, 8, "auto")
    assert target.description == "a server in a few formulas, with app.threads"


def test_a_value_is_set_when_it_changes_and_auto_is_the_value_from_before() -> None:
    pool = Pool()
    target = with_threads(pool.set_to, before=4)
    for value in (4, 8, 8, 2, "auto"):
        assert target.apply({**FAST, "app.threads": value})["app.threads"] == value
    assert pool.values == [8, 2, 4], "4 it had already"


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({**FAST, "app.threads": 5}, "app.threads must be one of 2, 4, 8, or auto"),
        (FAST, "app.threads is missing"),
        ({"app.threads": 8, "nic.rx_usecs": 2}, "cpu.freq_mhz is missing"),
        ({**FAST, "app.threads": 8, "app.thread": 8}, "there is no knob 'app.thread' here"),
    ],
)
def test_a_setting_that_is_refused_changes_nothing(setting: Setting, message: str) -> None:
    pool, server = Pool(), FakeServer()
    with pytest.raises(InputError) as caught:
        with_threads(pool.set_to, server).apply(setting)
    assert message in caught.value.message
    assert (pool.values, server.applied) == ([], [])


def test_the_value_from_before_need_not_be_one_of_the_knobs() -> None:
    pool = Pool()
    target = with_threads(pool.set_to)
    target.apply({**FAST, "app.threads": 8})
    target.restore()
    target.restore()
    assert pool.values == [8, 6], "once is enough"


@pytest.mark.parametrize(
    ("knob", "before", "message"),
    [
        (Knob("nic.rx_usecs", Steps(2, 4, 2)), 2, "a knob must have a name of its own"),
        (THREADS, float("nan"), "cannot use nan: the value to put back must be a number or a word (app.threads)"),
    ],
)
def test_what_can_not_be_a_knob(knob: Knob, before: Value, message: str) -> None:
    with pytest.raises(InputError) as caught:
        OwnKnobTarget(FakeServer(), knob, Pool().set_to, before=before)
    assert message in caught.value.message


def test_the_baseline_is_shown_only_while_the_own_knob_is_as_before() -> None:
    target = with_threads(Pool().set_to)
    assert target.baseline() is not None
    target.apply({**FAST, "app.threads": 8})
    assert target.baseline() is None


def test_a_search_chooses_among_its_values_and_ends_with_one_of_them() -> None:
    pool, server = Pool(), FakeServer()
    result = tune(with_threads(pool.set_to, server), "p99<500us", max_trials=4)
    assert result.setting is not None
    assert pool.values[-1] == result.setting["app.threads"]
    assert server.setting == {k: result.setting[k] for k in FAST}


# --- commands


def test_a_command_finds_the_value_in_its_environment(tmp_path: Path) -> None:
    file = tmp_path / "set"
    size = Knob("app.cache", Choices((0.5, 12_345_678_901)))
    target = OwnKnobTarget(FakeServer(), size, writing(file), before="some")
    for value in (0.5, 12_345_678_901, "auto"):
        target.apply({**FAST, "app.cache": value})
    assert file.read_text(encoding="utf-8").split() == ["0.5", "12345678901", "some"]


@pytest.mark.parametrize(
    ("command", "message", "hint"),
    [
        ("sh -c 'echo no such pool >&2; exit 3'", "the command ended with exit code 3", "no such pool"),
        ("/nowhere/set.sh", "cannot run /nowhere/set.sh: no such file", "None"),
        ("sleep 60", "the command was still running after 0.2 s", "it must end when the value is in effect"),
    ],
)
def test_a_command_that_fails_is_an_error_and_restoring_names_the_value(command: str, message: str, hint: str) -> None:
    server = FakeServer()
    target = with_threads(command, server, limit_s=0.2)
    with pytest.raises(InputError) as caught:
        target.apply({**FAST, "app.threads": 8})
    assert message in caught.value.message
    assert caught.value.place == "command of app.threads"
    assert hint in str(caught.value.hint)
    with pytest.raises(DriftError, match=r"app\.threads could not be put back to 6: ") as drift:
        target.restore()
    assert message in drift.value.message
    assert drift.value.hint == f"run it by hand: BAYOP_VALUE=6 {command}"
    assert server.setting is None, "the server itself was put back"


def test_a_command_that_failed_once_is_run_again_to_put_the_value_back(tmp_path: Path) -> None:
    file = tmp_path / "set"
    target = with_threads(f"sh -c 'test $BAYOP_VALUE -lt 8 && echo $BAYOP_VALUE >>{file}'")
    with pytest.raises(InputError, match="exit code 1"):
        target.apply({**FAST, "app.threads": 8})
    target.restore()
    assert file.read_text(encoding="utf-8") == "6\n", "nobody knows what the failed one has set"


def test_what_a_command_starts_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    with_threads(f"sh -c 'sleep 60 & echo $! >{file}'").apply({**FAST, "app.threads": 8})
    pid = int(file.read_text(encoding="utf-8"))
    assert lives(pid)
    os.kill(pid, signal.SIGKILL)


def test_keeping_names_the_command_that_takes_the_value_back(tmp_path: Path) -> None:
    file = tmp_path / "set"
    target = with_threads(writing(file), before="as it was")
    target.apply({**FAST, "app.threads": 8})
    assert target.keep() == f"BAYOP_VALUE='as it was' {writing(file)}"
    target.restore()
    assert file.read_text(encoding="utf-8").split() == ["8"], "what is kept stays"


def test_keeping_what_was_never_changed_leaves_nothing_to_take_back() -> None:
    assert with_threads("true").keep() is None


# --- what goes wrong


@pytest.mark.parametrize("failure", [BayopError(wrong="the meter is gone"), ValueError("3"), SystemExit(143)])
def test_a_failed_measurement_puts_both_back(failure: BaseException) -> None:
    pool, server = Pool(), Failing()
    server.measuring = failure
    with pytest.raises(type(failure)):
        tune(with_threads(pool.set_to, server), "p99<500us")
    assert (server.setting, pool.values[-1]) == (None, 6)


def test_ctrl_c_in_a_measurement_ends_the_search_with_both_put_back() -> None:
    pool, server = Pool(), Failing()
    server.measuring = KeyboardInterrupt()
    assert tune(with_threads(pool.set_to, server), "p99<500us").stopped == "interrupted"
    assert (server.setting, pool.values[-1]) == (None, 6)


def test_ctrl_c_while_a_value_is_set_puts_both_back() -> None:
    pool, server = Pool(KeyboardInterrupt()), FakeServer()
    assert tune(with_threads(pool.set_to, server), "p99<500us").stopped == "interrupted"
    assert (server.setting, pool.values) == (None, [6])


def test_a_function_that_fails_says_so_in_its_own_words_and_both_are_put_back() -> None:
    pool, server = Pool(RuntimeError("the pool is busy")), FakeServer()
    with pytest.raises(RuntimeError, match="the pool is busy"):
        tune(with_threads(pool.set_to, server), "p99<500us")
    assert (server.setting, pool.values) == (None, [6])


def test_the_target_is_put_back_before_the_own_knob() -> None:
    order: list[str] = []

    class Noting(FakeServer):
        def restore(self) -> None:
            order.append("target")

    target = with_threads(lambda value: order.append(f"threads {value}"), Noting())
    target.apply({**FAST, "app.threads": 8})
    target.restore()
    assert order == ["threads 8", "target", "threads 6"]


def test_a_target_that_can_not_be_put_back_does_not_keep_the_own_knob_from_it() -> None:
    pool, server = Pool(), Failing()
    target = with_threads(pool.set_to, server)
    target.apply({**FAST, "app.threads": 8})
    server.restoring = (DriftError(wrong="the lease is lost"),)
    with pytest.raises(DriftError, match="the lease is lost"):
        target.restore()
    assert pool.values == [8, 6]


def test_when_neither_can_be_put_back_one_error_names_both() -> None:
    pool, server = Pool(None, OSError("gone")), Failing()
    target = with_threads(pool.set_to, server)
    target.apply({**FAST, "app.threads": 8})
    server.restoring = (DriftError(wrong="the lease is lost"),)
    with pytest.raises(DriftError) as caught:
        target.restore()
    message = "app.threads could not be put back to 6: OSError: gone; before that, fake failed: the lease is lost"
    assert caught.value.message == message
    assert (caught.value.hint, caught.value.exit_code) == ("put it back by hand", 3)
    target.restore()
    assert pool.values == [8, 6], "it can be tried again"


def test_one_ctrl_c_while_things_are_put_back_is_heard_when_they_are() -> None:
    for interrupted in ("target", "knob"):
        pool, server = Pool(None, KeyboardInterrupt() if interrupted == "knob" else None), Failing()
        target = with_threads(pool.set_to, server)
        target.apply({**FAST, "app.threads": 8})
        server.restoring = (KeyboardInterrupt(),) if interrupted == "target" else ()
        with pytest.raises(KeyboardInterrupt):
            target.restore()
        assert (server.setting, pool.values) == (None, [8, 6])


def test_a_second_ctrl_c_is_meant_and_the_error_names_what_stays() -> None:
    pool = Pool(None, KeyboardInterrupt(), KeyboardInterrupt())
    target = with_threads(pool.set_to)
    target.apply({**FAST, "app.threads": 8})
    with pytest.raises(DriftError, match="could not be put back to 6: it was interrupted twice"):
        target.restore()


def test_a_real_ctrl_c_while_a_command_runs_ends_it_and_puts_the_value_back(tmp_path: Path) -> None:
    file = tmp_path / "set"
    command = f"sh -c 'echo $BAYOP_VALUE $$ >>{file}; test $BAYOP_VALUE = 6 || exec sleep 60'"
    code = textwrap.dedent(f"""
        from bayop import Choices, Knob, OwnKnobTarget, tune
        from bayop.testing.fakes import FakeServer

        server = FakeServer()
        threads = Knob("app.threads", Choices((2, 4, 8)))
        result = tune(OwnKnobTarget(server, threads, {command!r}, before=6), "p99<500us")
        print(result.stopped, len(result.trials), server.setting)
    """)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as program:
        while not (file.exists() and file.read_text(encoding="utf-8").endswith("\n")):
            assert program.poll() is None
            time.sleep(0.02)
        program.send_signal(signal.SIGINT)
        assert program.communicate(timeout=30)[0] == "interrupted 0 None\n"
    (first, pid), (last, _) = (line.split() for line in file.read_text(encoding="utf-8").splitlines())
    assert (first, last) == ("4", "6")
    assert not lives(int(pid))


# --- knobs of packages


def test_a_package_brings_a_knob_by_an_entry_point(tmp_path: Path) -> None:
    """A real one: a module and its dist-info, on the path of a fresh interpreter."""
    info = tmp_path / "webpool-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: webpool\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[bayop.knobs]\nthreads = webpool:with_threads\n", encoding="utf-8")
    (tmp_path / "webpool.py").write_text(
        textwrap.dedent("""
            from bayop import Choices, Knob, OwnKnobTarget

            def with_threads(target):
                return OwnKnobTarget(target, Knob("app.threads", Choices((2, 4, 8))), print, before=4)
        """),
        encoding="utf-8",
    )
    code = textwrap.dedent("""
        from bayop import BayopError, OwnKnobTarget
        from bayop.testing.fakes import FakeServer

        print(*OwnKnobTarget.installed("threads", FakeServer()).space.ids)
        try:
            OwnKnobTarget.installed("thread", FakeServer())
        except BayopError as error:
            print(error.message, error.hint, sep="; ")
    """)
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    words = [sys.executable, "-c", code]
    run = subprocess.run(words, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == [
        "nic.rx_usecs cpu.freq_mhz app.threads",
        "there is no entry point 'thread' in bayop.knobs; did you mean threads?",
    ]


def test_where_no_package_brings_a_knob_that_is_said() -> None:
    with pytest.raises(InputError, match=r"there is no entry point 'threads' in bayop\.knobs") as caught:
        OwnKnobTarget.installed("threads", FakeServer())
    assert caught.value.hint == "no package brings any"
