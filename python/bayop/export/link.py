"""The coalescing parameters of a setting as a systemd.link(5) file, which udev applies when the device appears."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from bayop.errors import InputError
from bayop.export.places import id_of
from bayop.export.spelled import Coalescing, Spelled
from bayop.space import AUTO, Setting

if TYPE_CHECKING:
    from bayop._core import KnobSpelling

_PROPERTIES: Final = {"o": "ONBOARD", "s": "SLOT", "p": "PATH", "x": "MAC"}
"""Which property a predictable name comes from, by the letter behind its type (systemd.net-naming-scheme(7))."""
_HEAD: Final = """\
# Written by bayop export: {summary}
# As /etc/systemd/network/50-bayop-{device}.link; it holds from the next boot on, or after
#   udevadm trigger --action=add /sys/class/net/{device}
# Of all .link files only the first that matches is read, so it says of names what holds already; to undo it, remove it.
[Match]
{match}

[Link]
AlternativeNamesPolicy=database onboard slot path
MACAddressPolicy=persistent
"""
_NAMES: Final = "NamePolicy=keep kernel database onboard slot path\n"
"""What systemd's own 99-default.link says of them."""


def check_link(setting: Setting, spellings: Mapping[str, KnobSpelling]) -> None:
    """Refuses what no such file can say, whatever its place is.

    Args:
        setting: By knob, with or without its place.
        spellings: The catalogue's.

    Raises:
        InputError: a knob is not coalescing's.
    """
    known = ((knob, spellings.get(id_of(knob))) for knob, value in setting.items() if value != AUTO)
    _check_none(knob for knob, spelling in known if spelling is not None and spelling["link"] is None)


def _check_none(knobs: Iterable[str]) -> None:
    if others := [*dict.fromkeys(knobs)]:
        raise InputError(
            "a .link file must have knobs of a NIC's coalescing alone",
            wrong=f"systemd.link has no words for {' and '.join(others)}",
            value=others[0],
            hint="export a script or a tuned profile; or name the NIC's knobs alone",
        )


def link(spelled: Spelled) -> str:
    """The file.

    Raises:
        InputError: a knob is not coalescing's, there are several devices, or the device's name is one of its own.
    """
    _check_none(file.knob for file in spelled.files)
    if len(spelled.devices) > 1:
        wrong = f"these are {len(spelled.devices)} devices: {', '.join(spelled.devices)}"
        hint = "name the knobs of one device, then those of the next"
        raise InputError("a .link file must be of one device", wrong=wrong, value=spelled.devices[0], hint=hint)
    device = spelled.devices[0]
    # A name like eth0 is the kernel's where somebody has turned off those of udev, maybe by masking the file that has
    # them: here they would come back at the next boot.
    of_kernel = re.fullmatch(r"eth\d+", device)
    match, names = (f"OriginalName={device}", "") if of_kernel else (_property(device), _NAMES)
    head = _HEAD.format(summary=spelled.summary, device=device, match=match) + names
    return head + "".join(f"{each.key}={_value(each)}\n" for each in spelled.coalescing)


def _property(device: str) -> str:
    """What tells the device: udev reads .link files before it has its name."""
    if found := re.fullmatch(r"(?:en|ib|sl|wl|ww)(?:P\d+)?([ospx])\w+", device):
        return f"Property=ID_NET_NAME_{_PROPERTIES[found[1]]}={device}"
    raise InputError(
        "a device must have a name that the kernel or udev gave it",
        wrong=f"{device} is neither like eth0 nor like enp1s0",
        value=device,
        hint="export a script or a tuned profile",
    )


def _value(each: Coalescing) -> str:
    if each.value in {"on", "off"}:
        return "yes" if each.value == "on" else "no"
    return f"{each.value}us" if each.key.endswith("Sec") else each.value
