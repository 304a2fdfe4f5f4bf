from __future__ import annotations

import pickle
from types import MappingProxyType

import pytest

from bayop import __version__
from bayop.domains import Steps
from bayop.errors import UnsupportedError
from bayop.experiments.sweep.load import Load
from bayop.experiments.sweep.makers import HeldMaker, TwinMaker
from bayop.experiments.sweep.plan import Cell, Trial
from bayop.experiments.sweep.trial import run_trial
from bayop.measurement import Measurement
from bayop.space import AUTO, FREQ_MHZ, RX_USECS, Setting, Space
from bayop.target.base import Modelled
from bayop.testing.fakes import nic_and_cpu_space

DEFAULT: dict[str, float | str] = {RX_USECS: AUTO, FREQ_MHZ: AUTO}
SETTING: dict[str, float | str] = {RX_USECS: 64, FREQ_MHZ: 2000}


class Machine(Modelled):
    """A machine whose driver rounds; it remembers what was done to it."""

    name = "agent"
    description = "a machine"
    quantities = frozenset({"power_w", "p99_us"})
    qps = 1000.0

    def __init__(self, *, auto: bool = True, cut_short: str | None = None) -> None:
        self.space: Space = nic_and_cpu_space(Steps(0, 100, 1), Steps(1000, 3000, 100), auto=auto)
        self.done: list[str] = []
        self._cut_short = cut_short

    def apply(self, setting: Setting) -> Setting:
        self.done.append(f"apply {setting[RX_USECS]}")
        return MappingProxyType({**setting, RX_USECS: AUTO if setting[RX_USECS] == AUTO else 50})

    def measure(self) -> Measurement:
        self.done.append("measure")
        return Measurement({"p99_us": 900.0}, cut_short=self._cut_short)

    def baseline(self) -> None:
        return None

    def restore(self) -> None:
        self.done.append("restore")


def held(machine: Machine) -> HeldMaker:
    return HeldMaker(machine, {}, kind="agent", machine="unix:/run/agent.sock", vantage="client")


def trial(setting: dict[str, float | str], *, seed: int = 1, load: Load | None = None) -> Trial:
    return Trial(1, Cell(1, load, setting), 1, seed)


def test_what_was_in_effect_is_what_the_machine_says() -> None:
    machine = Machine()
    outcome = run_trial(held(machine), trial(SETTING), __version__)
    assert outcome.effective == {RX_USECS: 50, FREQ_MHZ: 2000}
    assert outcome.load == Load(qps=1000.0)
    assert outcome.started_at is not None
    assert outcome.started_at.tzinfo is not None
    assert machine.done == ["apply 64", "measure"]


def test_the_default_is_applied_where_a_machine_has_it_and_restored_where_not() -> None:
    machine = Machine()
    run_trial(held(machine), trial(DEFAULT), __version__)
    assert machine.done == ["apply auto", "measure"]
    machine = Machine(auto=False)
    assert run_trial(held(machine), trial(DEFAULT), __version__).effective == DEFAULT
    assert machine.done == ["restore", "measure"]


def test_the_harm_of_a_window_that_was_cut_short_ends_at_once() -> None:
    machine = Machine(cut_short="p99 900 us, over 300 us")
    outcome = run_trial(held(machine), trial(SETTING), __version__)
    assert outcome.measurement.censored
    assert machine.done == ["apply 64", "measure", "restore"]


def test_a_node_with_another_version_is_refused() -> None:
    machine = Machine()
    with pytest.raises(UnsupportedError, match="all machines of a sweep must have the same BayOp") as caught:
        run_trial(held(machine), trial(SETTING), "0.0.1")
    assert caught.value.hint == "install version 0.0.1 on every node"
    assert not machine.done


def test_a_twins_trial_follows_from_its_seed_wherever_it_runs() -> None:
    maker = TwinMaker.of("linux-memcached", window_s=0.05)
    elsewhere = pickle.loads(pickle.dumps(maker))  # noqa: S301 -- our own
    there = pickle.loads(pickle.dumps(trial(SETTING, seed=5, load=Load(qps=4e5))))  # noqa: S301 -- our own
    first = run_trial(maker, trial(SETTING, seed=5, load=Load(qps=4e5)), __version__)
    # Another trial in between changes nothing.
    run_trial(elsewhere, trial(SETTING, seed=6, load=Load(qps=4e5)), __version__)
    again = run_trial(elsewhere, there, __version__)
    assert dict(first.measurement.quantities) == dict(again.measurement.quantities)
    assert first.started_at is None
    other = run_trial(maker, trial(SETTING, seed=6, load=Load(qps=4e5)), __version__)
    assert dict(other.measurement.quantities) != dict(first.measurement.quantities)
    assert pickle.loads(pickle.dumps(first)).measurement == first.measurement  # noqa: S301 -- our own


def test_a_trial_of_a_closed_loop_says_its_message() -> None:
    maker = TwinMaker.of("ebbrt-netpipe")
    outcome = run_trial(maker, trial(SETTING, load=Load(message_bytes=64)), __version__)
    assert outcome.load == Load(message_bytes=64)
    assert outcome.measurement["roundtrip_us"] > 0
