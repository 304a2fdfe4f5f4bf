"""A setting in the words of ethtool, systemd.link and the files below /sys, by the catalogue of knobs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bayop.errors import InputError
from bayop.space import AUTO, Setting, Value, format_value

if TYPE_CHECKING:
    from bayop._core import KnobSpelling

_PLACE: Final = re.compile(r"[A-Za-z0-9_.:*\[\]-]+(/[A-Za-z0-9_.:-]+)?")
"""What places look like; nothing in them means anything else to a shell than a pattern of file names."""
_TEXT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]*")


@dataclass(frozen=True, slots=True)
class Coalescing:
    """One coalescing parameter of a network device.

    Attributes:
        knob: The knob that it is for, with its place.
        device: Such as `eth0`.
        parameter: As `ethtool -C` calls it.
        key: As a systemd.link file calls it.
        value: A whole number in the parameter's unit, or `on` or `off`.
    """

    knob: str
    device: str
    parameter: str
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class FileValue:
    """What files below /sys are to have.

    Attributes:
        knob: The knob that it is for, with its place.
        pattern: Their paths, as a shell's pattern.
        text: What is written.
    """

    knob: str
    pattern: str
    text: str


@dataclass(frozen=True, slots=True)
class Spelled:
    """A whole setting.

    Attributes:
        setting: As BayOp has it, every knob with its place.
        coalescing: The parameters of network devices, in the order in which they must be set.
        files: The files, in the order in which they must be written.
    """

    setting: Setting
    coalescing: tuple[Coalescing, ...]
    files: tuple[FileValue, ...]

    @property
    def devices(self) -> tuple[str, ...]:
        """The network devices whose coalescing is set."""
        return tuple(dict.fromkeys(each.device for each in self.coalescing))

    @property
    def summary(self) -> str:
        """The setting for people, on a line."""
        return ", ".join(f"{knob} {format_value(_id(knob), value)}" for knob, value in self.setting.items())


def spell(setting: Setting, spellings: Mapping[str, KnobSpelling], device: str | None = None) -> Spelled:
    """The setting in others' words; knobs that are `auto` are the machine's own, and left out.

    Args:
        setting: By knob, with or without its place: `nic.rx_usecs@eth0`.
        spellings: The catalogue's.
        device: The network device of knobs of which the setting names none.

    Raises:
        InputError: nobody else can say some of its knobs, a place is missing or is a single queue's, or all is `auto`.
    """
    wanted = {_placed(knob, spellings, device): value for knob, value in setting.items() if value != AUTO}
    if not wanted:
        raise InputError(wrong="the setting is the machine's own: there is nothing to export")
    if unknown := [knob for knob in wanted if _id(knob) not in spellings]:
        raise InputError(
            "every knob of an export must be one that has a file or a parameter of ethtool",
            wrong=f"nobody but bayop-agent sets {' and '.join(unknown)}",
            value=unknown[0],
            hint="name the other knobs alone, as in bayop export nic.rx_usecs@eth0=100 --as script",
        )
    coalescing: list[Coalescing] = []
    files: list[FileValue] = []
    for knob, value in wanted.items():
        spelling = spellings[_id(knob)]
        place = _place(knob, spelling, value)
        if spelling["ethtool"] is None or spelling["link"] is None:
            text = _text(value, spelling)
            parts = dict(enumerate(place.split("/"), start=1))
            for pattern in spelling["files"]:
                path = re.sub(r"\{(\d)\}", lambda found, parts=parts: parts[int(found[1])], pattern)  # type: ignore[misc]
                files.append(FileValue(knob, path, text))
            continue
        if spelling["without"] is not None:
            parameter, key = spelling["without"]
            coalescing.append(Coalescing(knob, place, parameter, key, "off"))
        coalescing.append(Coalescing(knob, place, spelling["ethtool"], spelling["link"], _text(value, spelling)))
    return Spelled(wanted, _switches_first(coalescing), tuple(files))


def _switches_first(coalescing: list[Coalescing]) -> tuple[Coalescing, ...]:
    """The same with each once; a switch that the setting itself wants otherwise is a contradiction."""
    seen: dict[tuple[str, str], Coalescing] = {}
    for each in coalescing:
        other = seen.setdefault((each.device, each.parameter), each)
        if other.value != each.value:
            wrong = f"{other.knob} wants {each.parameter} {other.value}, and {each.knob} wants it {each.value}"
            raise InputError(wrong=wrong, value=each.knob, hint="leave one of the two out")
    return tuple(sorted(seen.values(), key=lambda each: (each.device, each.value not in {"on", "off"})))


def _id(knob: str) -> str:
    return knob.partition("@")[0]


def _placed(knob: str, spellings: Mapping[str, KnobSpelling], device: str | None) -> str:
    """The knob with its place, where the setting or the catalogue or the caller knows it."""
    knob_id, _, place = knob.partition("@")
    spelling = spellings.get(knob_id)
    if place or spelling is None:
        return knob
    if place := spelling["everywhere"] or (device if knob_id.startswith(("nic.", "napi.")) else None) or "":
        return f"{knob_id}@{place}"
    raise InputError(
        f"an export must name the place of {knob_id}",
        wrong=f"{knob} has no place",
        value=knob,
        hint="--device eth0" if knob_id.startswith(("nic.", "napi.")) else f"such as {knob_id}@intel-rapl:0/0",
    )


def _place(knob: str, spelling: KnobSpelling, value: Value) -> str:
    place = knob.partition("@")[2]
    parts = max((pattern.count("{") for pattern in spelling["files"]), default=1)
    fixed = parts == 0 and place != spelling["everywhere"]
    if fixed or not _PLACE.fullmatch(place) or (parts and place.count("/") != parts - 1):
        rule = "a place must be one that files or ethtool know: no single queue of a device"
        raise InputError(rule, value=f"{knob}={value}", hint=f"such as {spelling['everywhere'] or 'eth0'}")
    return place


def _text(value: Value, spelling: KnobSpelling) -> str:
    """The value as files and ethtool take it: whole numbers, or words."""
    own = value if isinstance(value, str) else str(round(value * (spelling["factor"] or 1)))
    text = spelling["words"].get(own, own)
    if not _TEXT.fullmatch(text):
        raise InputError("a value must be a number or a word", value=text)
    return text
