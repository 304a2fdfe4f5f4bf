"""A setting in the words of ethtool, systemd.link and the files below /sys, by the catalogue of knobs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayop.errors import InputError
from bayop.export.places import id_of, place_of, placed
from bayop.export.values import text_of
from bayop.space import AUTO, Setting, format_value

if TYPE_CHECKING:
    from bayop._core import KnobSpelling


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
        return ", ".join(f"{knob} {format_value(id_of(knob), value)}" for knob, value in self.setting.items())


def spell(setting: Setting, spellings: Mapping[str, KnobSpelling], device: str | None = None) -> Spelled:
    """The setting in others' words; knobs that are `auto` are the machine's own, and left out.

    Args:
        setting: By knob, with or without its place: `nic.rx_usecs@eth0`.
        spellings: The catalogue's.
        device: The network device of knobs of which the setting names none.

    Raises:
        InputError: nobody else can say some of its knobs or values, a place is missing, is none or is a single queue's,
            two knobs are one in a place, nothing has use for the device, or all is `auto`.
    """
    places = placed(setting, spellings, device)
    wanted = {places[knob]: value for knob, value in setting.items() if value != AUTO}
    if not wanted:
        raise InputError(wrong="the setting is the machine's own: there is nothing to export")
    if unknown := [knob for knob in wanted if id_of(knob) not in spellings]:
        raise InputError(
            "every knob of an export must be one that has a file or a parameter of ethtool",
            wrong=f"nobody but bayop-agent sets {' and '.join(unknown)}",
            value=unknown[0],
            hint="name the other knobs alone, as in bayop export nic.rx_usecs@eth0=100 --as script",
        )
    coalescing: list[Coalescing] = []
    files: list[FileValue] = []
    for knob, value in wanted.items():
        spelling = spellings[id_of(knob)]
        place, text = place_of(knob, spelling), text_of(knob, value, spelling)
        if spelling["ethtool"] is None or spelling["link"] is None:
            parts = dict(enumerate(place.split("/"), start=1))
            for pattern in spelling["files"]:
                path = re.sub(r"\{(\d)\}", lambda found, parts=parts: parts[int(found[1])], pattern)  # type: ignore[misc]
                files.append(FileValue(knob, path, text))
            continue
        if spelling["without"] is not None:
            parameter, key = spelling["without"]
            coalescing.append(Coalescing(knob, place, parameter, key, "off"))
        coalescing.append(Coalescing(knob, place, spelling["ethtool"], spelling["link"], text))
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
