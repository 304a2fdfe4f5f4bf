"""From what a machine has and its agent allows to the space of a search."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Final

from bayop.catalogue import knob_entry
from bayop.domains import Choices, Condition, Range, Steps, parse_condition
from bayop.errors import BayopError, InputError, UnsupportedError, no_knob
from bayop.live.agent.messages import MachineKnob, MachineKnobs
from bayop.space import DEFER_HARD_IRQS, GRO_FLUSH_TIMEOUT_US, RX_USECS, Knob, Space, check_ranges

MOST_VALUES: Final = 10_000
"""The most values of one knob that a search looks through."""

_ALLOW_HINT: Final = 'add [allow."{id}"] to /etc/bayop/agent.toml on the server and restart bayop-agent'


def agent_space(
    machine: MachineKnobs,
    *,
    only: Sequence[str] = (),
    ranges: Mapping[str, Range] | None = None,
    only_with: Mapping[str, tuple[Condition, ...]] | None = None,
    place: Callable[[str], str] | None = None,
    writes: bool = True,
) -> Space:
    """The knobs that a search of this machine is about, each of which can also be left alone.

    Args:
        machine: What the agent says of it.
        only: Ids of the knobs to search; none for all that BayOp may write.
        ranges: For some of them, the numbers to choose from.
        only_with: For some of them, what others must be set to for them to matter, instead of what the kernel says.
        place: Where a knob of `only` was named, for errors; None where they know it best.
        writes: Whether settings are to be written; else a knob of `only` that the agent allows nowhere has the values
            that the hardware takes.

    Raises:
        InputError: a knob is unknown, a range does not fit, a knob has too many values to search, or one could never
            matter.
        UnsupportedError: the machine does not have a knob, or its agent does not allow what is to be written.
    """
    known = writable_knob if writes else _known_knob
    ranges, only_with = ranges or {}, only_with or {}
    if len(set(only)) != len(only):
        raise InputError("a search must have each knob once", value=", ".join(only), parameter="only")
    if only:
        knobs = [_at(place, knob_id, lambda id_=knob_id: _knob(known(machine, id_))) for knob_id in only]  # type: ignore[misc]
    else:
        writable = [_knob(knob) for knob in machine.knobs if is_writable(knob)]
        knobs = [knob if knob.id in ranges else _coarse(knob) for knob in writable]
        if not knobs:
            raise UnsupportedError(
                wrong="the agent allows none of this machine's knobs",
                hint=(_ALLOW_HINT.format(id=RX_USECS) if writes else "name those that the search would be about")
                + "; bayop knobs --agent ADDRESS shows what the machine has",
            )
    check_ranges(ranges, [knob.id for knob in knobs])
    space = Space(
        tuple(_at(place if only else None, k.id, lambda k=k: _searchable(k, ranges.get(k.id))) for k in knobs)  # type: ignore[misc]
    )
    for knob_id, conditions in only_with.items():
        _check_conditions(space, knob_id, conditions)
    return Space(
        tuple(
            replace(knob, only_with=_conditions_of(knob.id) if (own := only_with.get(knob.id)) is None else own)
            for knob in space.knobs
        )
    )


def _conditions_of(knob_id: str) -> tuple[Condition, ...]:
    """What the catalogue says of a knob; nothing of one that it does not have."""
    entry = knob_entry(knob_id)
    return tuple(parse_condition(other, values) for other, values in entry["only_with"].items()) if entry else ()


def _check_conditions(space: Space, knob_id: str, conditions: tuple[Condition, ...]) -> None:
    """Refuses conditions that somebody typed and that are about nothing.

    Raises:
        InputError: one of their knobs is not searched, or has no value with which the other one matters.
    """
    for searched in (knob_id, *(condition.knob_id for condition in conditions)):
        if searched not in space.ids:
            raise InputError(
                "a knob of only_with must be one that is searched",
                wrong=f"{searched} is not searched",
                value=searched,
                hint=f"this search is over {', '.join(space.ids)}",
            )
    for condition in conditions:
        other = space[condition.knob_id]
        if not any(condition.met_by(value) for value in other.values()):
            raise InputError(
                f"a condition must have a value of {other.id}",
                wrong=f"{knob_id} could never matter",
                value=str(condition),
                hint=f"{other.id} is {other.describe()}",
            )


def _at(place: Callable[[str], str] | None, knob_id: str, build: Callable[[], Knob]) -> Knob:
    """What `build` gives; its errors get the place where the knob was named."""
    try:
        return build()
    except BayopError as error:
        raise error if place is None else error.but(place=place(knob_id)) from error


def doubts(machine: MachineKnobs, space: Space) -> list[str]:
    """Knobs that have no effect while another one stays as it is, for people."""
    if GRO_FLUSH_TIMEOUT_US not in space.ids or DEFER_HARD_IRQS in space.ids:
        return []
    deferral = next((knob for knob in machine.knobs if knob.id == DEFER_HARD_IRQS), None)
    if deferral is not None and any(place.effective for place in deferral.places):
        return []
    return [f"{GRO_FLUSH_TIMEOUT_US} defers no interrupt while {DEFER_HARD_IRQS} is 0: allow and search both"]


def writable_knob(machine: MachineKnobs, knob_id: str) -> MachineKnob:
    """A knob of the machine that the agent's allow-list has.

    Raises:
        InputError: there is no such knob.
        UnsupportedError: the machine has none, or the agent must not write it.
    """
    knob = _known_knob(machine, knob_id)
    if not is_writable(knob):
        raise UnsupportedError(
            wrong=f"{knob_id} is not on the agent's allow-list", value=knob_id, hint=_ALLOW_HINT.format(id=knob_id)
        )
    return knob


def _known_knob(machine: MachineKnobs, knob_id: str) -> MachineKnob:
    by_id = {knob.id: knob for knob in machine.knobs}
    knob = by_id.get(knob_id)
    if knob is None and knob_id in machine.why_missing:
        raise UnsupportedError(
            wrong=f"the machine has no {knob_id}", value=knob_id, hint=f"missing: {machine.why_missing[knob_id]}"
        )
    if knob is None:
        raise no_knob(knob_id, [*by_id, *machine.why_missing])
    return knob


def is_writable(knob: MachineKnob) -> bool:
    """Whether the agent's allow-list has the knob, in any of its places."""
    return any(place.allowed is not None for place in knob.places)


def _knob(machine_knob: MachineKnob) -> Knob:
    """One knob for all its places: a search sets them alike, so it has the values that every place takes.

    Where none may be written, they are those of the hardware.
    """
    domains = [place.allowed.values for place in machine_knob.places if place.allowed is not None]
    if not domains:
        domains = [place.domain.values for place in machine_knob.places]
    try:
        return Knob(machine_knob.id, reduce(_common, domains), auto=True, safest=machine_knob.safest)
    except BayopError as error:
        raise UnsupportedError(
            "the places of a knob must have values in common",
            wrong=f"no value fits {', '.join(place.at for place in machine_knob.places)}",
            value=[place.at for place in machine_knob.places],
            place=machine_knob.id,
            hint=f'name fewer places in [allow."{machine_knob.id}"]',
        ) from error


def _common(first: Steps | Choices, second: Steps | Choices) -> Steps | Choices:
    """The values that both have. Two grids have a grid in common only where the finer one contains the coarser."""
    if isinstance(first, Steps) and isinstance(second, Steps):
        coarse, fine = (first, second) if first.step >= second.step else (second, first)
        low = next((v for v in (coarse.low, fine.low) if coarse.holds(v) and fine.holds(v)), None)
        if low is None:
            raise InputError(wrong=f"the ranges {first} and {second} do not overlap", value=(first, second))
        reserved = tuple(sorted({*coarse.reserved, *fine.reserved}))
        return Steps(low, min(coarse.high, fine.high), coarse.step, reserved)
    choices, other = (first, second) if isinstance(first, Choices) else (second, first)
    if not isinstance(choices, Choices):
        raise TypeError("one of the two is a list: both being steps was answered above")
    return Choices(tuple(v for v in choices.options if _has(other, v)))


def _has(domain: Steps | Choices, value: float | str) -> bool:
    if isinstance(domain, Choices):
        return value in domain.options
    return not isinstance(value, str) and domain.holds(value)


def _coarse(knob: Knob) -> Knob:
    """The knob in no more steps than a search looks through: it is searched because it is allowed, as far as it can."""
    domain = knob.domain
    if not isinstance(domain, Steps):
        return knob
    steps = math.ceil((domain.high - domain.low) / domain.step / (MOST_VALUES - 1))
    return replace(knob, domain=replace(domain, step=domain.step * steps)) if steps > 1 else knob


def _searchable(knob: Knob, bounds: Range | None) -> Knob:
    if bounds is not None:
        knob = knob.within(bounds)
    domain = knob.domain
    if isinstance(domain, Steps) and (domain.high - domain.low) / domain.step >= MOST_VALUES:
        raise InputError(
            f"a search must look through at most {MOST_VALUES} values of a knob",
            value=knob.describe(),
            place=knob.id,
            hint=f"choose a range of them: {knob.id}=LOW:HIGH:STEP",
        )
    return knob
