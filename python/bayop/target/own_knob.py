"""A knob of one's own beside those of any target: set by a function, or by a command.

A command gets the value in `BAYOP_VALUE`, as the domain spells it, and ends when the value is in effect::

    #!/bin/sh
    systemctl set-environment THREADS="$BAYOP_VALUE" && systemctl restart web

A package can bring such knobs for others: an entry point in the group `bayop.knobs` names what makes a target out of
another one (`installed`).
"""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from bayop.domains import Value
from bayop.errors import BayopError, DriftError, InputError, guess
from bayop.measurement import Measurement
from bayop.program import run_within, split_command
from bayop.space import AUTO, Knob, Setting, Space, format_value
from bayop.target.base import Target
from bayop.units import format_quantity

GROUP: Final = "bayop.knobs"
"""The group of entry points."""

_LIMIT_S: Final = 30.0
_ATTEMPTS: Final = 2
"""One Ctrl-C does not keep a value from being put back; a second one means it."""


class OwnKnobTarget:
    """A target with one more knob, which is put back whatever happens: after the target, to the value that it had.

    The knob can be left alone like any other: `auto` is the value that it had before. `set_to` is called only when the
    value changes.

    Args:
        target: What else is tuned, and what measures.
        knob: Its id carries its unit: `app.threads`, `app.idle_timeout_ms`.
        set_to: A function of the value, or a command (as a shell would split it; no shell interprets it further) that
            finds it in the variable `BAYOP_VALUE`. It returns when the value is in effect. What a command starts goes
            on after it.
        before: The value that the knob has now; it need not be in the domain.
        limit_s: How long a command may take, in s.

    Raises:
        InputError: the target has a knob of that name, there is no such value, or no command.

    Example:
        >>> from bayop import Choices, Knob, OwnKnobTarget, TwinTarget
        >>> pool = {"threads": 4}
        >>> server = TwinTarget.from_profile("linux-memcached", qps=400_000, seed=0)
        >>> threads = Knob("app.threads", Choices((2, 4, 8)))
        >>> both = OwnKnobTarget(server, threads, lambda n: pool.update(threads=n), before=4)
        >>> in_effect = both.apply({"nic.rx_usecs": 200, "cpu.freq_mhz": "auto", "app.threads": 8})
        >>> pool["threads"]
        8
        >>> both.restore()
        >>> pool["threads"]
        4
    """

    def __init__(
        self,
        target: Target,
        knob: Knob,
        set_to: Callable[[Value], object] | str,
        *,
        before: Value,
        limit_s: float = _LIMIT_S,
    ) -> None:
        if knob.id in target.space.ids:
            raise InputError("a knob must have a name of its own", value=knob.id, hint=f"{target.name} has it already")
        if not isinstance(before, str) and not math.isfinite(before):
            raise InputError("the value to put back must be a number or a word", value=before, place=knob.id)
        self._target = target
        self._knob = replace(knob, auto=True)
        self._space = Space((*target.space.knobs, self._knob))
        self._set_to = set_to if callable(set_to) else _by_command(knob, set_to, limit_s)
        self._undo = None if callable(set_to) else f"BAYOP_VALUE={shlex.quote(_spelled(before))} {set_to}"
        self._before = before
        self._now: Value | None = before
        """None when nobody knows: what should have set it has failed."""

    @classmethod
    def installed(cls, name: str, target: Target) -> Target:
        """A target with a knob that an installed package brings: what the entry point `name` makes of the target.

        Raises:
            InputError: no package brings a knob of that name.
        """
        from importlib.metadata import entry_points

        entries = entry_points(group=GROUP)
        if name not in entries.names:
            listing = f"installed are {', '.join(sorted(entries.names))}" if entries.names else "no package brings any"
            hint = guess(name, entries.names) or listing
            raise InputError(wrong=f"there is no entry point {name!r} in {GROUP}", value=name, hint=hint)
        with_knob: Target = entries[name].load()(target)
        return with_knob

    @property
    def name(self) -> str:
        """That of the target."""
        return self._target.name

    @property
    def description(self) -> str:
        """The target's, and the knob."""
        return f"{self._target.description}, with {self._knob.id}"

    @property
    def space(self) -> Space:
        """The target's knobs and the own one, which comes last."""
        return self._space

    @property
    def quantities(self) -> frozenset[str]:
        """What the target measures."""
        return self._target.quantities

    @property
    def qps(self) -> float:
        """Offered load, in requests/s."""
        return self._target.qps

    @property
    def is_live(self) -> bool:
        """Whether the target is a real machine."""
        return self._target.is_live

    @property
    def vantage(self) -> str:
        """Where the target sees its latency."""
        return self._target.vantage

    @property
    def estimated(self) -> frozenset[str]:
        """What a model stands in for."""
        return self._target.estimated

    @property
    def doubts(self) -> Sequence[str]:
        """What makes the target's numbers doubtful."""
        return self._target.doubts

    def apply(self, setting: Setting) -> Setting:
        """Applies the target's knobs, then the own one.

        Raises:
            InputError: the setting can't be applied, and nothing has changed; or the command failed, and `restore` has
                to be called, as after any error of the function's.
        """
        if self._knob.id not in setting:
            wrong = f"{self._knob.id} is missing"
            raise InputError("a setting must have a value for every knob", wrong=wrong, hint=f"add {self._knob.id}")
        own = self._knob.check(setting[self._knob.id])
        others = self._target.apply({k: v for k, v in setting.items() if k != self._knob.id})
        self._put(self._before if own == AUTO else own)
        effective = {**others, self._knob.id: own}
        return {knob_id: effective[knob_id] for knob_id in self._space.ids}

    def measure(self) -> Measurement:
        """One window of the target."""
        return self._target.measure()

    def baseline(self) -> Measurement | None:
        """One window of the target's default; None while the own knob has another value than before."""
        return self._target.baseline() if self._now == self._before else None

    def restore(self) -> None:
        """Puts back the target, then the own knob, also when the target could not be, or somebody pressed Ctrl-C.

        Raises:
            DriftError: the own knob could not be put back; it says which value it should have.
        """
        of_target, first = _whatever_happens(self._target.restore)
        of_knob, second = _whatever_happens(lambda: self._put(self._before))
        if of_knob is not None:
            raise self._drift(of_knob, before_that=of_target) from of_knob
        for error in (of_target, first, second):
            if error is not None:
                raise error

    def keep(self) -> str | None:
        """Leaves both in effect; the command that takes them back.

        What a function has set stays without one: only its program knows how to take it back.
        """
        undo = [self._target.keep()]
        if self._now != self._before:
            undo.append(self._undo)
        # What is kept is not ours to put back any more.
        self._before = self._before if self._now is None else self._now
        return "; ".join(filter(None, undo)) or None

    def _put(self, value: Value) -> None:
        if value == self._now:
            return
        self._now = None
        self._set_to(value)
        self._now = value

    def _drift(self, error: BaseException, *, before_that: BaseException | None) -> DriftError:
        value = format_value(self._knob.id, self._before)
        wrong = f"{self._knob.id} could not be put back to {value}: {_message(error)}"
        if before_that is not None:
            wrong += f"; before that, {self._target.name} failed: {_message(before_that)}"
        by_hand = f"run it by hand: {self._undo}" if self._undo else "put it back by hand"
        return DriftError(wrong=wrong, place=self._knob.id, hint=by_hand)


def _whatever_happens(step: Callable[[], None]) -> tuple[BaseException | None, BaseException | None]:
    """Does a step to its end, though somebody interrupts it once; how it failed, and the interruption."""
    interruption: BaseException | None = None
    for _ in range(_ATTEMPTS):
        try:
            step()
        except Exception as error:
            return error, interruption
        except BaseException as error:  # Ctrl-C, SIGTERM
            interruption = error
        else:
            return None, interruption
    return interruption, interruption


def _by_command(knob: Knob, command: str, limit_s: float) -> Callable[[Value], None]:
    words = split_command(command)
    place = f"command of {knob.id}"

    def set_to(value: Value) -> None:
        late = InputError(
            wrong=f"the command was still running after {limit_s:g} s",
            place=place,
            hint="it must end when the value is in effect; what should go on belongs in the background",
        )
        environment = {"BAYOP_VALUE": _spelled(value)}
        run_within(
            limit_s, words, environment=environment, sleep=time.sleep, late=late, place=place, leaves_children=True
        )

    return set_to


def _spelled(value: Value) -> str:
    """A value as a command reads it: without an exponent or a needless fraction."""
    return value if isinstance(value, str) else format_quantity(value, "", digits=15)


def _message(error: BaseException) -> str:
    if isinstance(error, BayopError):
        return error.message
    if not isinstance(error, Exception):
        return "it was interrupted twice"
    return f"{type(error).__name__}: {error}".removesuffix(": ")
