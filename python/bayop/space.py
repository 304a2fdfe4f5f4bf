"""Knobs, settings, and the space of settings that a search may choose from."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, TypeVar, get_args

from bayop.domains import Choices, Condition, Range, Steps, Value
from bayop.errors import InputError, guess
from bayop.units import format_quantity, parse_quantity, unit_of

AUTO: Final = "auto"
"""The value that hands a knob back to the operating system."""

RX_USECS: Final = "nic.rx_usecs"
"""The NIC's interrupt delay (ITR-delay in [D]; `ethtool -C rx-usecs`), in us."""

FREQ_MHZ: Final = "cpu.freq_mhz"
"""The pinned core frequency (DVFS; userspace governor, else min = max), in MHz."""

QUEUES: Final = "nic.combined_queues"
"""The NIC's receive queues in use (`ethtool -X equal`), and with them the cores that serve."""

RX_FRAMES: Final = "nic.rx_frames"
"""Packets after which the NIC waits no longer for its interrupt delay (`ethtool -C rx-frames`)."""

CAP_W: Final = "power.cap_w"
"""The limit of a package's power (powercap, RAPL), in W."""

MAX_LATENCY_US: Final = "idle.max_latency_us"
"""The latest that a CPU may wake up (PM QoS resume latency), which bounds its idle states, in us."""

IDLE_GOVERNOR: Final = "idle.governor"
"""What chooses idle states."""

GRO_FLUSH_TIMEOUT_US: Final = "napi.gro_flush_timeout_us"
"""How long the kernel defers a device's next poll, in us."""

DEFER_HARD_IRQS: Final = "napi.defer_hard_irqs"
"""How many polls without packets it does so before the device may interrupt again."""

_IDLE: Final = "-"

T = TypeVar("T")

Setting: TypeAlias = Mapping[str, Value]
"""A value for every knob of a space, by knob id; numbers are in the unit that the id carries.

Whatever mappings they are, two settings are the same where they are equal (`==`); `setting_key` is for sets of them.

Example:
    >>> from bayop import Setting
    >>> setting: Setting = {"nic.rx_usecs": 300, "cpu.freq_mhz": "auto"}  # 300 us; the frequency is the system's
"""

Safest: TypeAlias = Literal["low", "high"]
"""Which end of a numeric domain makes the service fastest."""


@dataclass(frozen=True, slots=True)
class Knob:
    """One controllable quantity.

    Attributes:
        id: `domain.name_unit`, for example `nic.rx_usecs`.
        domain: The values that it takes.
        auto: Whether the knob can be handed back to the operating system; `auto` is then one of its values.
        safest: Which end of a numeric domain makes the service fastest; None when nobody knows.
        only_with: What other knobs must be set to for this one to matter; those that a space does not have, and those
            on `auto`, of which nobody knows what they are, keep it from nothing.
        otherwise: What it is set to while it does not matter: `auto` where it can be, else the fastest value.

    Example:
        >>> from bayop import Knob, Steps
        >>> delay = Knob("nic.rx_usecs", Steps(2, 400, 2), safest="low")
        >>> delay.parse("0.1ms")  # in the unit that the id carries
        100
        >>> delay.describe()
        '2us to 400us in steps of 2us'
    """

    id: str
    domain: Steps | Choices
    auto: bool = False
    safest: Safest | None = None
    only_with: tuple[Condition, ...] = ()
    otherwise: Value | None = None

    def __post_init__(self) -> None:
        if self.safest not in (None, *get_args(Safest)):
            raise InputError("what is safest must be low or high", value=self.safest, place=self.id)
        if self.only_with and self.otherwise is None:
            # Known from now on, so that it is the same in every part of a space, such as one without `auto`.
            object.__setattr__(self, "otherwise", AUTO if self.auto else self.fastest(self.values()))

    @property
    def unit(self) -> str:
        """The unit that the id carries, or an empty string."""
        return unit_of(self.id) or ""

    def values(self) -> tuple[Value, ...]:
        """Everything that the knob may be set to; `auto` comes last."""
        return (*self.domain.values(), AUTO) if self.auto else self.domain.values()

    def numbers(self) -> tuple[float, ...]:
        """The numeric values, ascending; empty for a categorical knob."""
        return tuple(sorted(v for v in self.domain.values() if not isinstance(v, str)))

    def fastest(self, values: Sequence[Value]) -> Value:
        """Of some of its values, the one that makes the service fastest.

        Where nobody knows, it is `auto` if that is one of them, else the one in the middle.
        """
        numbers = [v for v in values if not isinstance(v, str)]
        if self.safest and numbers:
            return min(numbers) if self.safest == "low" else max(numbers)
        return AUTO if AUTO in values else values[len(values) // 2]

    def takes(self, value: Value) -> bool:
        """Whether it may be set to the value."""
        return (self.auto and value == AUTO) or self.domain.spelled(value) is not None

    def parse(self, text: str) -> Value:
        """Reads a value that a person typed; units are optional (`50us`, `2.1GHz`).

        Raises:
            InputError: not a value of this knob.
        """
        if text == AUTO or self.domain.spelled(text) is not None:
            return self.check(text)
        try:
            value = parse_quantity(text, self.unit) if self.unit else float(text)
        except ValueError:
            raise InputError(f"{self.id} must be {self.describe()}", value=text) from None
        except InputError as error:
            raise error.at(self.id) from error
        return self.check(value)

    def check(self, value: Value) -> Value:
        """Returns the value as the domain spells it.

        Raises:
            InputError: the value is outside the domain or between two steps.
        """
        own = AUTO if self.auto and value == AUTO else self.domain.spelled(value)
        if own is not None:
            return own
        raise InputError(f"{self.id} must be {self.describe()}", value=value, hint=self._nearest(value))

    def describe(self) -> str:
        """The domain for people: `2us to 400us in steps of 2us, or auto`."""
        if isinstance(self.domain, Steps):
            low, high, step = (
                format_quantity(x, self.unit) for x in (self.domain.low, self.domain.high, self.domain.step)
            )
            text = f"{low} to {high} in steps of {step}" if self.domain.low < self.domain.high else f"only {low}"
            text += self._without(self.domain.reserved)
        else:
            text = "one of " + ", ".join(format_value(self.id, v) for v in self.domain.options)
        return text + (", or auto" if self.auto else "")

    def within(self, chosen: Range) -> Knob:
        """The same knob with only the numbers of a range.

        Raises:
            InputError: the range has no values, or some that this knob does not take.
        """
        domain = self.domain.within(chosen)
        if domain is None:
            rule = f"{self.id} must be {self.describe()}"
            rule += ": a range has some of these, and no step" if isinstance(self.domain, Choices) else ""
            raise InputError(rule, value=str(chosen), parameter="range", hint=self._in_ghz(chosen))
        return replace(self, domain=domain)

    def _without(self, reserved: tuple[tuple[float, float], ...]) -> str:
        def shown(low: float, high: float) -> str:
            ends = [format_quantity(end, self.unit) for end in (low, high)]
            return ends[0] if low == high else " to ".join(ends)

        return " without " + ", ".join(shown(low, high) for low, high in reserved) if reserved else ""

    def _in_ghz(self, chosen: Range) -> str | None:
        """What a range may mean whose numbers are too small by as much as MHz are smaller than GHz."""
        numbers = [number for number in (chosen.low, chosen.high, chosen.step) if number is not None]
        if self.unit != "MHz" or self.domain.within(Range(*(1000 * number for number in numbers))) is None:
            return None
        return f"did you mean {':'.join(f'{number:.10g}GHz' for number in numbers)}?"

    def _nearest(self, value: Value) -> str | None:
        if self.unit == "MHz" and not isinstance(value, str) and self.domain.spelled(1000 * value) is not None:
            return f"did you mean {value:g}GHz?"
        number = None if isinstance(value, str) or math.isnan(value) else self.domain.nearest(value)
        return None if number is None else f"the nearest value is {format_quantity(number, self.unit)}"


@dataclass(frozen=True, slots=True)
class Space:
    """The settings that a search may choose from: the product of its knobs' values.

    Settings that differ only in knobs that do not matter (`Knob.only_with`) are one setting here, in which these have
    the value `Knob.otherwise`. What stands against such a knob's condition is another knob that matters itself.

    Raises:
        InputError: there is no knob, or one is there twice, or knobs matter only with each other in a circle.

    Example:
        >>> from bayop import Choices, Knob, Space, Steps
        >>> space = Space((Knob("app.threads", Steps(2, 8, 2)), Knob("idle.governor", Choices(("menu", "teo")))))
        >>> len(space.settings())
        8
        >>> dict(space.check({"idle.governor": "teo", "app.threads": 4.0}))
        {'app.threads': 4, 'idle.governor': 'teo'}
    """

    knobs: tuple[Knob, ...]

    def __post_init__(self) -> None:
        ids = [k.id for k in self.knobs]
        if not ids or len(set(ids)) != len(ids):
            raise InputError("a space must have at least one knob, each once", value=ids)
        self._check_circles()

    @property
    def ids(self) -> tuple[str, ...]:
        """The knob ids, in order."""
        return tuple(k.id for k in self.knobs)

    @property
    def auto(self) -> bool:
        """Whether every knob can be handed back to the operating system: `default_setting` is one of its settings."""
        return all(k.auto for k in self.knobs)

    def __getitem__(self, knob_id: str) -> Knob:
        """The knob `knob_id`.

        Raises:
            InputError: there is none of that name here.
        """
        for knob in self.knobs:
            if knob.id == knob_id:
                return knob
        hint = guess(knob_id, self.ids, cutoff=0.8) or f"this target has {', '.join(self.ids)}"
        raise InputError(wrong=f"there is no knob {knob_id!r} here", value=knob_id, hint=hint)

    @property
    def is_conditional(self) -> bool:
        """Whether there is a knob that does not always matter."""
        return any(k.only_with for k in self.knobs)

    def matters(self, knob_id: str, setting: Setting) -> bool:
        """Whether a knob has any effect in a setting, which has a value at least for those that decide."""

        def is_met(condition: Condition) -> bool:
            value = setting[condition.knob_id]
            return self.matters(condition.knob_id, setting) and (value == AUTO or condition.met_by(value))

        return all(is_met(c) for c in self[knob_id].only_with if c.knob_id in self.ids)

    def in_effect(self, setting: Setting) -> Setting:
        """The one setting that stands for all that differ from this one in knobs that do not matter."""
        idle = {k.id: k.otherwise for k in self.knobs if k.otherwise is not None and not self.matters(k.id, setting)}
        return MappingProxyType({**setting, **idle}) if idle else setting

    def moved(self, setting: Setting, knob_id: str, value: Value) -> Setting:
        """The setting with another value of one knob; what begins to matter by that is at its fastest value."""
        return self._begun({**setting, knob_id: value})

    def _begun(self, setting: Setting) -> Setting:
        waiting = [k for k in self.knobs if k.only_with and setting[k.id] == k.otherwise and not k.takes(setting[k.id])]
        begun = {k.id: k.fastest(k.values()) for k in waiting if self.matters(k.id, setting)}
        return self.in_effect({**setting, **begun})

    def check(self, setting: Setting) -> Setting:
        """The setting as the domains spell it, with the knobs in this space's order; those that do not matter as one.

        Raises:
            InputError: a knob is unknown or missing, or a value lies outside its domain.
        """
        for knob_id in setting:
            self[knob_id]
        missing = [k for k in self.ids if k not in setting]
        if missing:
            raise InputError(
                "a setting must have a value for every knob",
                wrong=f"{', '.join(missing)} is missing",
                value=dict(setting),
                hint=f"add {', '.join(missing)}",
            )
        return MappingProxyType({k.id: self._checked(k, setting) for k in self.knobs})

    def _checked(self, knob: Knob, setting: Setting) -> Value:
        value = setting[knob.id]
        if not knob.only_with or knob.otherwise is None or self.matters(knob.id, setting):
            return knob.check(value)
        if value != knob.otherwise:
            knob.check(value)
        return knob.otherwise

    def settings(self) -> list[Setting]:
        """Every setting, the last knob varying fastest."""
        return self.each_once(
            MappingProxyType(dict(zip(self.ids, values, strict=True)))
            for values in product(*(k.values() for k in self.knobs))
        )

    def each_once(self, settings: Iterable[Setting]) -> list[Setting]:
        """The settings, of which those that differ only in knobs that do not matter are one.

        A knob that matters and has no value of its own is at its fastest, as where it was `moved` to matter.
        """
        if not self.is_conditional:
            return list(settings)
        return list({setting_key(s): s for s in map(self._begun, settings)}.values())

    def without_auto(self) -> Space:
        """The same space without `auto` among the values, for a search that fixes every knob."""
        return Space(tuple(replace(k, auto=False) for k in self.knobs))

    def within(self, ranges: Mapping[str, Range]) -> Space:
        """The same space with only the numbers of `ranges`, by knob id.

        Raises:
            InputError: a range is of another knob, or does not fit its own.
        """
        check_ranges(ranges, self.ids)
        return Space(tuple(k.within(ranges[k.id]) if k.id in ranges else k for k in self.knobs))

    def only(self, knob_ids: Sequence[str]) -> Space:
        """The same space with every other knob left to the operating system (`auto`).

        Raises:
            InputError: a name is unknown, or a knob that would be left alone can't be.
        """
        for knob_id in knob_ids:
            self[knob_id]
        for knob in self.knobs:
            if knob.id not in knob_ids and not knob.auto:
                raise InputError(
                    wrong=f"a search over {', '.join(knob_ids)} alone would leave {knob.id} to the operating system",
                    place=knob.id,
                    hint=f"this target has no measurement with {knob.id} on auto; use another target, such as the twin",
                )
        return Space(
            tuple(replace(k, auto=False) if k.id in knob_ids else Knob(k.id, Choices((AUTO,))) for k in self.knobs)
        )

    def format(self, setting: Setting) -> str:
        """A setting for people: `nic.adaptive_rx on, nic.rx_frames not in effect`."""
        shown = zip(self.ids, self.format_each(setting), strict=True)
        return ", ".join(f"{knob_id} {'not in effect' if value == _IDLE else value}" for knob_id, value in shown)

    def format_each(self, setting: Setting) -> list[str]:
        """Each knob's value for the cells of a table; `-` for a knob that does not matter."""
        return [format_value(i, setting[i]) if self.matters(i, setting) else _IDLE for i in self.ids]

    def _check_circles(self) -> None:
        deciding = {k.id: [c.knob_id for c in k.only_with] for k in self.knobs}

        def follow(knob_id: str, path: tuple[str, ...]) -> None:
            if knob_id in path:
                circle = " only with ".join((*path[path.index(knob_id) :], knob_id))
                raise InputError("knobs must not matter only with each other", wrong=circle, value=circle)
            for other in deciding.get(knob_id, ()):
                follow(other, (*path, knob_id))

        for knob_id in deciding:
            follow(knob_id, ())

    def describe(self) -> dict[str, object]:
        """The space as JSON-ready data."""
        return {k.id: _describe_domain(k) for k in self.knobs}


def check_ranges(ranges: Mapping[str, Range], knob_ids: Sequence[str]) -> None:
    """Refuses a range of a knob that is not searched.

    Raises:
        InputError: there is one.
    """
    for knob_id in ranges:
        if knob_id not in knob_ids:
            hint = f"this search is over {', '.join(knob_ids)}"
            raise InputError(
                "a range must be of a knob that is searched",
                wrong=f"{knob_id} is not searched",
                parameter="range",
                hint=hint,
            )


def evenly(values: Sequence[T], count: int) -> list[T]:
    """`count` of the values, evenly from end to end, or all where there are no more; the first where it is one."""
    last = len(values) - 1
    if count > last:
        return list(values)
    return [values[round(i * last / max(count - 1, 1))] for i in range(count)]


def default_setting(space: Space) -> Setting:
    """Every knob on `auto`: what the operating system does when left alone."""
    return MappingProxyType(dict.fromkeys(space.ids, AUTO))


def is_default(setting: Setting) -> bool:
    """Whether every knob is on `auto`."""
    return all(value == AUTO for value in setting.values())


def fastest_setting(space: Space) -> Setting:
    """The setting to start from: each knob at the end that makes the service fastest; the others left alone.

    A knob of which nobody knows what is safe stays on `auto` where it can, else in the middle of its values; of those
    with which other knobs matter, so that these can be at their safe ends.
    """

    def fastest(knob: Knob) -> Value:
        conditions = [c for k in space.knobs for c in k.only_with if c.knob_id == knob.id]
        most = [v for v in knob.values() if v == AUTO or all(c.met_by(v) for c in conditions)]
        return knob.fastest(knob.values() if knob.safest and knob.numbers() else most or knob.values())

    return space.check({knob.id: fastest(knob) for knob in space.knobs})


def setting_key(setting: Setting) -> Hashable:
    """Equal for equal settings, in whatever order they list their knobs; for sets and dictionaries."""
    return frozenset(setting.items())


def plain_setting(setting: Setting | None) -> dict[str, Value] | None:
    """A setting, or none, as JSON has it."""
    return None if setting is None else dict(setting)


def format_value(knob_id: str, value: Value) -> str:
    """A knob's value for people: `314us`, `auto`."""
    return value if isinstance(value, str) else format_quantity(value, unit_of(knob_id) or "")


def format_setting(setting: Setting) -> str:
    """A setting for people: `nic.rx_usecs 314us, cpu.freq_mhz 1700MHz`."""
    return ", ".join(f"{knob_id} {format_value(knob_id, value)}" for knob_id, value in setting.items())


def _describe_domain(knob: Knob) -> dict[str, object]:
    domain: dict[str, object]
    if isinstance(knob.domain, Steps):
        domain = {"low": knob.domain.low, "high": knob.domain.high, "step": knob.domain.step}
        if knob.domain.reserved:
            domain["reserved"] = [{"low": low, "high": high} for low, high in knob.domain.reserved]
    else:
        domain = {"choices": list(knob.domain.options)}
    if knob.only_with:
        domain["only_with"] = {c.knob_id: _describe_values(c.values) for c in knob.only_with}
    return domain | {"unit": knob.unit, "auto": knob.auto}


def _describe_values(values: Range | tuple[Value, ...]) -> dict[str, object]:
    return {"low": values.low, "high": values.high} if isinstance(values, Range) else {"choices": list(values)}
