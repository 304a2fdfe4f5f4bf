"""A setting as a profile of TuneD: its plug-ins `sysfs` and `script` (tuned.conf(5)), and what they found comes back.

The plug-in `net` has coalescing, too, but that of Debian 12 (2.20) can't read what its ethtool (6.1) prints; and
ethtool refuses a whole line that switches off an adaptive moderation which the driver does not have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from bayop.export.script import script
from bayop.export.spelled import Spelled

CONF: Final = "tuned.conf"
SCRIPT: Final = "coalesce.sh"


def tuned(spelled: Spelled) -> Mapping[str, str]:
    """The files of the profile's folder, by name."""
    files = {CONF: "\n".join(_lines(spelled)) + "\n"}
    if not spelled.coalescing:
        return files
    knobs = {each.knob for each in spelled.coalescing}
    own = {knob: value for knob, value in spelled.setting.items() if knob in knobs}
    return files | {SCRIPT: script(replace(spelled, setting=own, files=()))}


def _lines(spelled: Spelled) -> Iterator[str]:
    yield "# Written by bayop export. A profile takes the place of the one in effect, or includes it: include=NAME."
    yield "# In /etc/tuned/NAME (from TuneD 2.23 on /etc/tuned/profiles/NAME), then: tuned-adm profile NAME"
    yield "[main]"
    yield f"summary=What BayOp found: {spelled.summary}"
    if spelled.coalescing:
        yield ""
        yield "[bayop_coalescing]"
        yield "type=script"
        yield f"script=${{i:PROFILE_DIR}}/{SCRIPT}"
    if spelled.files:
        yield ""
        yield "[bayop_files]"
        yield "type=sysfs"
        yield from (f"{file.pattern}={file.text}" for file in spelled.files)
