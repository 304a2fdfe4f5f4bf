"""Where the knobs of a setting are: the devices and files of another machine, by the catalogue of knobs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from bayop.domains import Value
from bayop.errors import InputError
from bayop.space import AUTO, Setting, format_value

if TYPE_CHECKING:
    from bayop._core import KnobSpelling

_PLACE: Final = re.compile(r"[A-Za-z0-9_.:*\[\]-]+(/[A-Za-z0-9_.:-]+)?")
"""What places look like; nothing in them means anything else to a shell than a pattern of file names."""
_PATTERN: Final = re.compile(r"[*\[\]]")

_OTHERWISE: Final = {
    True: "bayop export FILE SERVICE --device eth0",
    False: "bayop export --agent ADDRESS for what an agent holds, with its places",
}
"""How a place is told without naming it; by whether it is a network device."""


def id_of(knob: str) -> str:
    """The knob without its place."""
    return knob.partition("@")[0]


def placed(setting: Setting, spellings: Mapping[str, KnobSpelling], device: str | None) -> Mapping[str, str]:
    """The setting's knobs that are not `auto`, each with its place: the setting's, the catalogue's or the caller's.

    Args:
        setting: By knob, with or without its place.
        spellings: The catalogue's.
        device: The network device of knobs of which the setting names none.

    Raises:
        InputError: nobody knows a place, two knobs are one in a place, or nothing has use for the device.
    """
    if device is not None and not any(_is_network_s(knob) and "@" not in knob for knob in setting):
        wrong = f"no knob of the setting is for {device}: those of network devices name their own"
        raise InputError(wrong=wrong, value=device, parameter="device", hint="leave the device out")
    places: dict[str, str] = {}
    for knob, value in setting.items():
        if value == AUTO:
            continue
        own = _placed(knob, value, spellings, device)
        _check_other(own, places.values())
        places[knob] = own
    return places


def unplaced(setting: Setting, spellings: Mapping[str, KnobSpelling], device: str | None) -> list[str]:
    """The knobs of which neither the setting nor the catalogue nor the caller has the place."""
    return [
        knob
        for knob, value in setting.items()
        if value != AUTO and "@" not in knob and knob in spellings and not _usual(knob, spellings[knob], device)
    ]


def place_of(knob: str, spelling: KnobSpelling) -> str:
    """The place of a knob, as files and ethtool name it.

    Raises:
        InputError: nothing is called so, or neither files nor ethtool know it.
    """
    knob_id, _, place = knob.partition("@")
    parts = max((pattern.count("{") for pattern in spelling["files"]), default=1)
    if not _PLACE.fullmatch(place) or (spelling["ethtool"] and _PATTERN.search(place)):
        rule = "a place must be a name of letters, digits and -_.:"
    elif parts == 0 and place != spelling["everywhere"]:
        rule = f"{knob_id} must be of the whole machine"
    elif parts and place.count("/") != parts - 1:
        if _is_network_s(knob_id):
            rule = "a place must be one that files or ethtool know: no single queue of a device"
        else:
            rule = f"the place of {knob_id} must have {'one name' if parts == 1 else 'two names'}"
    else:
        return place
    raise InputError(rule, value=place, place=knob_id, hint=f"such as {_example(knob_id, spelling)}")


def _usual(knob_id: str, spelling: KnobSpelling, device: str | None) -> str | None:
    """The place of a knob that names none."""
    return spelling["everywhere"] or (device if _is_network_s(knob_id) else None)


def _is_network_s(knob: str) -> bool:
    return knob.startswith(("nic.", "napi."))


def _example(knob_id: str, spelling: KnobSpelling) -> str:
    return f"{knob_id}@{spelling['everywhere'] or ('eth0' if _is_network_s(knob_id) else 'intel-rapl:0/0')}"


def _placed(knob: str, value: Value, spellings: Mapping[str, KnobSpelling], device: str | None) -> str:
    knob_id, _, place = knob.partition("@")
    spelling = spellings.get(knob_id)
    if place or spelling is None:
        return knob
    if usual := _usual(knob_id, spelling, device):
        return f"{knob_id}@{usual}"
    named = f"bayop export {_example(knob_id, spelling)}={format_value(knob_id, value)}"
    raise InputError(
        f"an export must name the place of {knob_id}",
        wrong=f"{knob} has no place",
        value=knob,
        hint=f"{named}, or {_OTHERWISE[_is_network_s(knob_id)]}",
    )


def _check_other(knob: str, others: Iterable[str]) -> None:
    """One place must not be set twice: what comes last would win."""
    for other in others:
        (knob_id, _, place), (other_id, _, other_place) = knob.partition("@"), other.partition("@")
        if knob_id == other_id and (fnmatchcase(place, other_place) or fnmatchcase(other_place, place)):
            both = f"{knob} comes twice" if knob == other else f"{other} and {knob} have places in common"
            rule = "a setting must name each knob of a place once"
            raise InputError(rule, wrong=both, value=knob, hint="leave one of the two out")
