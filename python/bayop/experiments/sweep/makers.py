"""How a trial gets its target: made anew for each, so that no trial depends on another, or held for all of them.

What makes targets travels to other processes and machines, so it carries what it needs with it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from bayop import _core
from bayop.errors import InputError
from bayop.experiments.sweep.load import Load
from bayop.recorded.target import StudyTarget
from bayop.target.base import Target
from bayop.twin.profile_library import parse_profile, read_profile
from bayop.twin.target import ROUND_TRIPS_PER_WINDOW, TwinTarget

if TYPE_CHECKING:
    from bayop.recorded.table import Row
    from bayop.study.trial import Origin


class Maker(Protocol):
    """Gives every trial its target."""

    def make(self, load: Load | None, *, seed: int) -> Target:
        """The target of one trial, in its default."""
        ...

    def describe(self) -> Mapping[str, object]:
        """What it makes, as JSON-ready data: makers of different targets say different things."""
        ...

    def origin(self, study: str) -> Origin:
        """What the rows of a study of that name say of the target."""
        ...


@dataclass(frozen=True, slots=True)
class TwinMaker:
    """Makes simulated servers.

    Attributes:
        profile: The complete text of the profile.
        name: What people call it, such as `linux-memcached`.
        window_s: Simulated time of one measurement. None for a closed loop: there it is `ROUND_TRIPS_PER_WINDOW` round
            trips, however long they take, so that the energy and instructions of all settings are of the same work.
        knobs: Knobs beyond ITR-delay and frequency.
    """

    profile: str
    name: str
    window_s: float | None
    knobs: tuple[str, ...] = ()

    @classmethod
    def of(cls, name_or_file: str, *, window_s: float | None = None, knobs: Iterable[str] = ()) -> TwinMaker:
        """The maker of a built-in profile's server, or of a profile file's.

        Args:
            name_or_file: The profile.
            window_s: Simulated time of one measurement of an open loop; None for that of a live machine.
            knobs: Knobs beyond ITR-delay and frequency.

        Raises:
            InputError: there is no such profile, its text breaks a rule, or it is a closed loop and has no such time.
        """
        from bayop.live.senses import WINDOW_S

        text, source = read_profile(name_or_file)
        if not parse_profile(text, source=source).closed_loop:
            return cls(text, name_or_file, WINDOW_S if window_s is None else window_s, tuple(knobs))
        if window_s is not None:
            rule = f"a window of a closed loop must be {ROUND_TRIPS_PER_WINDOW} round trips, however long they take"
            raise InputError(rule, value=f"{window_s:g} s", parameter="window", hint="leave it out")
        return cls(text, name_or_file, None, tuple(knobs))

    def make(self, load: Load | None, *, seed: int) -> TwinTarget:
        """A server with the load and the arrivals of one trial.

        Raises:
            InputError: there is no load, or it is not of the profile's kind.
        """
        if load is None:
            raise InputError("a twin must have an offered load", wrong="no load is given", parameter="load")
        return TwinTarget(
            _profile(self.profile, self.name),
            qps=load.qps,
            message_bytes=load.message_bytes,
            seed=seed,
            requests=None if load.qps is None or self.window_s is None else max(1, round(load.qps * self.window_s)),
            knobs=self.knobs,
        )

    def describe(self) -> Mapping[str, object]:
        """The profile's content, not where it is."""
        return {"kind": "twin", "profile": _sha256(self.profile.encode()), "window_s": self.window_s}

    def origin(self, study: str) -> Origin:
        """The server as its profile names it."""
        from bayop.study.trial import Origin

        return Origin.of_twin(study, profile=self.profile, source=self.name)


@dataclass(frozen=True, slots=True)
class StudyMaker:
    """Makes targets that answer from a study.

    Attributes:
        path: The study file.
        os: The operating system whose trials answer.
    """

    path: Path
    os: str

    @classmethod
    def of(cls, path: Path, *, os: str | None = None) -> StudyMaker:
        """The maker of a study's system; without one, of its only one, or Linux.

        Raises:
            InputError: the file is no study.
        """
        from bayop.recorded.rows import system_of

        return cls(path, system_of(_rows(path)) if os is None else os)

    def make(self, load: Load | None, *, seed: int) -> StudyTarget:
        """The study at one load, with the noise of one trial.

        Raises:
            InputError: the file is no study, or has no such operating system or load.
        """
        if load is None:
            raise InputError("a study must have an offered load", wrong="no load is given", parameter="load")
        return StudyTarget(_rows(self.path), source=str(self.path), os=self.os, qps=load.rate(), seed=seed)

    def describe(self) -> Mapping[str, object]:
        """The file's content, not where it is."""
        return {"kind": "study", "data": _sha256(self.path.read_bytes()), "os": self.os}

    def origin(self, study: str) -> Origin:
        """The file that answers for the machine that it was recorded on."""
        from bayop.study.trial import Origin

        return Origin(study, target="study", machine=self.path.name, os=self.os)


@dataclass(frozen=True, slots=True)
class HeldMaker:
    """Gives every trial the same live machine, which stays in this process and under its own load.

    Attributes:
        target: The machine.
        identity: What tells it from other machines and other ways to measure it.
        kind: `agent`, or `live` for one that a file says everything about.
        machine: Its agent's address, or that file.
        vantage: Where its latency is measured.
    """

    target: Target
    identity: Mapping[str, object]
    kind: str
    machine: str
    vantage: str

    def make(self, load: Load | None, *, seed: int) -> Target:  # noqa: ARG002 -- a machine is as it is
        """The machine."""
        return self.target

    def describe(self) -> Mapping[str, object]:
        """Its identity."""
        return {"kind": self.kind, "machine": self.machine, **self.identity}

    def origin(self, study: str) -> Origin:
        """As it was given."""
        from bayop.study.trial import Origin

        return Origin(study, target=self.kind, machine=self.machine, vantage=self.vantage)


@lru_cache(maxsize=1)
def _profile(text: str, name: str) -> _core.Profile:
    """The profile; a process reads it once and not for every trial."""
    return parse_profile(text, source=name)


@lru_cache(maxsize=1)
def _rows(path: Path) -> list[Row]:
    """The study's trials, read once as well."""
    from bayop.recorded.rows import read_rows

    return read_rows(path)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
