"""The contract that every target keeps, as tests to inherit.

In a plug-in's tests::

    from bayop.testing.targets import TargetContract

    class TestMine(TargetContract):
        def make(self, *, seed):
            return MyTarget(seed=seed)
"""

# ruff: noqa: S101 -- assertions are what a contract suite is made of

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import pytest

from bayop.errors import InputError
from bayop.measurement import Measurement
from bayop.objective import Objective
from bayop.optimize.base import Problem
from bayop.optimize.random import RandomSearch
from bayop.search import run_search
from bayop.slo import Slo
from bayop.space import Setting
from bayop.target.base import Target

# More than any knob takes, and not a number that a driver could mean.
_OUTSIDE = (1e9, -1.0, math.nan, math.inf, "warp speed")


class TargetContract(ABC):
    """Inherit, name the class `Test...`, and say how to make the target.

    Attributes:
        repeatable: Whether the same seed gives the same measurements; false for real machines. Only one target at a
            time is made of those: a machine has one writer.
    """

    repeatable: ClassVar[bool] = True

    @abstractmethod
    def make(self, *, seed: int) -> Target:
        """A fresh target in its default."""

    def test_says_what_it_is(self) -> None:
        """Name, description, load and space are what a search shows and needs."""
        target = self.make(seed=0)
        assert target.name
        assert target.description
        assert target.qps > 0
        assert target.space.knobs
        assert all(knob.values() for knob in target.space.knobs)
        assert "power_w" in target.quantities

    def test_applies_every_corner_of_its_space(self) -> None:
        """What is in effect, whatever was rounded, has the same knobs and can be applied again."""
        target = self.make(seed=0)
        for setting in _corners(target):
            effective = target.apply(setting)
            assert list(effective) == list(setting)
            assert dict(target.apply(effective)) == dict(effective)
        target.restore()

    def test_measures_what_it_says(self) -> None:
        """Every promised quantity, each a finite number; uncertainty is positive and of quantities that are there."""
        target = self.make(seed=0)
        for setting in _corners(target)[:2]:
            target.apply(setting)
            measurement = target.measure()
            assert target.quantities <= set(measurement.quantities)
            _check(measurement)
        target.restore()

    def test_refuses_an_unknown_knob(self) -> None:
        """A typo is never a trial."""
        self._refuses({"nic.rx_usec": 50, **_corners(self.make(seed=0))[0]})

    def test_refuses_a_missing_knob(self) -> None:
        """Half a setting would keep the other half of the last one."""
        whole = _corners(self.make(seed=0))[0]
        self._refuses(dict(list(whole.items())[1:]))

    @pytest.mark.parametrize("value", _OUTSIDE)
    def test_refuses_a_value_outside_the_domain(self, value: float | str) -> None:
        """No value is clamped in silence."""
        whole = _corners(self.make(seed=0))[0]
        for knob_id in whole:
            self._refuses({**whole, knob_id: value})

    def test_the_seed_decides_the_noise(self) -> None:
        """The same seed gives the same sequence of measurements."""
        if not self.repeatable:
            pytest.skip("a real machine does not repeat itself")
        first, second = self.make(seed=4), self.make(seed=4)
        for setting in _corners(first)[:2]:
            assert _applied(first, setting).quantities == _applied(second, setting).quantities
            assert first.measure().quantities == second.measure().quantities

    def test_showing_the_baseline_applies_nothing(self) -> None:
        """The default is looked up beside what is applied; what is measured next is as if nobody had asked."""
        target = self.make(seed=1)
        setting = _corners(target)[0]
        target.apply(setting)
        baseline = target.baseline()
        if baseline is not None:
            _check(baseline)
            assert baseline["power_w"] > 0
        if self.repeatable:
            assert target.measure().quantities == _applied(self.make(seed=1), setting).quantities
        target.restore()

    def test_restores_more_than_once_and_at_any_time(self) -> None:
        """Before anything was applied, after, and again."""
        target = self.make(seed=0)
        target.restore()
        target.apply(_corners(target)[0])
        target.restore()
        target.restore()

    def test_measures_its_default_or_says_that_it_can_not(self) -> None:
        """After `restore` a window shows the default, never the setting that was there before."""
        target = self.make(seed=0)
        target.apply(_corners(target)[0])
        target.restore()
        baseline = target.baseline()
        if baseline is None:
            with pytest.raises(InputError) as caught:
                target.measure()
            assert caught.value.hint, "an error says what to do"
            return
        measurement = target.measure()
        _check(measurement)
        assert measurement["power_w"] == pytest.approx(baseline["power_w"], rel=0.1)

    def test_a_search_leaves_the_incumbent_or_the_default(self) -> None:
        """Every target can be searched: three trials, an SLO that everything meets and one that nothing meets."""
        for limit, is_held in (("p99<10s", True), ("p99<1ns", False)):
            target = self.make(seed=0)
            slo = Slo.parse(limit)
            if slo.quantity not in target.quantities:
                pytest.skip("this target measures no p99")
            problem = Problem(target.space, slo, Objective.parse("power", slo), target.qps)
            result = run_search(target, problem, RandomSearch(problem, seed=0), max_trials=3)
            assert len(result.trials) == 3
            assert (result.setting is not None) == is_held
            target.restore()

    def _refuses(self, bad: Setting) -> None:
        """It raises, and what is measured afterwards is as if nobody had tried."""
        refusing = self.make(seed=2)
        good = _corners(refusing)[0]
        refusing.apply(good)
        with pytest.raises(InputError):
            refusing.apply(bad)
        if self.repeatable:
            assert refusing.measure().quantities == _applied(self.make(seed=2), good).quantities
        refusing.restore()


def _corners(target: Target) -> list[Setting]:
    """Three settings: every knob at its first, at its last and at its middle value."""
    values = {knob.id: knob.values() for knob in target.space.knobs}
    return [
        {k: v[0] for k, v in values.items()},
        {k: v[-1] for k, v in values.items()},
        {k: v[len(v) // 2] for k, v in values.items()},
    ]


def _applied(target: Target, setting: Setting) -> Measurement:
    target.apply(setting)
    return target.measure()


def _check(measurement: Measurement) -> None:
    assert all(math.isfinite(value) for value in measurement.quantities.values())
    assert set(measurement.relative_sd) <= set(measurement.quantities)
    assert all(math.isfinite(sd) and sd > 0 for sd in measurement.relative_sd.values())
