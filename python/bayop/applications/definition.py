"""`app.toml`: one application, as `bayop live` and `bayop app` start it. docs/applications.md says how to write one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Final, get_args

from bayop.domains import read_ranges
from bayop.errors import InputError, guess, unreadable
from bayop.load.plan import Dialect
from bayop.slo import Slo
from bayop.toml_file import Reader, TomlFile, flag, number, one_of, text, whole

FILE: Final = "app.toml"
"""What a definition is called, in a folder with the name of its application."""

DEFAULT: Final = "memcached"
"""The application that is taken when none is named."""

READY_S: Final = 10.0
"""How long an application may take until it is ready, unless it says so itself."""

_WORDS: Final = ("address", "port", "folder", "cache", "packages")
"""What is filled in, `{port}`, when an application starts."""

_PLACEHOLDER: Final = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class Live:
    """How an application is searched.

    Attributes:
        share: The load, as a share of what it answers at most.
        window_requests: How many requests a window has, so that its quantile is not that of one of them.
        slo: The latency objective.
    """

    share: float
    window_requests: int
    slo: Slo


@dataclass(frozen=True, slots=True)
class Application:
    """What a definition says.

    Attributes:
        name: The name of its folder.
        licence: Of the program that it starts.
        packages: What has to be installed for it, by registry; none for what is built.
        start: Program and arguments: one process that stays in the foreground.
        port: Where it listens.
        protocol: What it speaks, as the load generator calls it.
        files: Texts that are written to its folder before it starts, by their names; what it shares with others too.
        prepare: Program and arguments that fill its cache, once; none where there is nothing to prepare.
        ready: Program and arguments that end well once it serves; none where it does as soon as it listens.
        ready_within_s: How long it may take until then, in s.
        knobs: What is worth searching for it, as a table `[knobs]` of live.toml; empty for whatever there is.
        brings: What its packages bring, where its program alone does not tell that they are there.
        build: What builds the program in a clone of BayOp, for one of BayOp's own.
        load: What a load is told of it, beside its protocol: keys of live.toml's `[load]`.
        live: How it is searched where nobody says otherwise; None for as memcached is.
    """

    name: str
    licence: str
    packages: Mapping[str, tuple[str, ...]]
    start: tuple[str, ...]
    port: int
    protocol: Dialect
    files: Mapping[str, str]
    prepare: tuple[str, ...] = ()
    ready: tuple[str, ...] = ()
    ready_within_s: float = READY_S
    knobs: Mapping[str, str] = field(default_factory=dict)
    brings: str | None = None
    build: str | None = None
    load: Mapping[str, str | bool | float] = field(default_factory=dict)
    live: Live | None = None

    @classmethod
    def read(cls, path: Path) -> Application:
        """Reads and checks a definition.

        Raises:
            InputError: it can't be read, a key is unknown or missing, or a value is not what it has to be.
        """
        file, keys = TomlFile(path), {**_KEYS, **_OPTIONAL}
        file.check_tables(dict.fromkeys(_TABLES), keys)
        values = file.read("", keys)
        file.require("", values, _KEYS, f"an application must have {', '.join(_KEYS)}")
        files = file.read("files", dict.fromkeys(file.table("files"), text))
        for name in files:
            file.at("files", name, lambda name=name: _file_name(name))  # type: ignore[misc]
        for name in values.pop("beside", ()):
            files[name] = file.at("", "beside", lambda name=name: _read(path.parent.parent / name))  # type: ignore[misc]
        packages = file.read("packages", _PACKAGES)
        read_ranges(file, "knobs")
        return cls(
            name=path.parent.name,
            packages=packages,
            files=files,
            knobs=file.table("knobs"),
            load=file.read("load", _LOAD),
            live=_live(file),
            **values,
        )

    @property
    def package_names(self) -> tuple[str, ...]:
        """Its packages, those of another registry than apt with its name: `npm:fastify@4.28.1`."""
        names = [(registry, name) for registry, names in self.packages.items() for name in names]
        return tuple(name if registry == "apt" else f"{registry}:{name}" for registry, name in names)

    def filled(self, words: Sequence[str], *, address: str, folder: Path, cache: Path, packages: Path) -> list[str]:
        """Words of `start`, of `prepare`, of `ready` or of a file, filled in.

        Args:
            words: With `{port}` and the like.
            address: Where it is to listen.
            folder: Its own folder, which it may write.
            cache: Where what it has prepared is.
            packages: Where its packages of PyPI and npm are.
        """
        values = (address, str(self.port), str(folder), str(cache), str(packages))
        for name, value in zip(_WORDS, values, strict=True):
            words = [word.replace(f"{{{name}}}", value) for word in words]
        return list(words)

    @property
    def load_flags(self) -> list[str]:
        """What `bayop load` is told of it."""
        flags = ["--protocol", self.protocol]
        for key in ("path", "query", "user"):
            if key in self.load:
                flags += [f"--{key}", str(self.load[key])]
        if "timeout_s" in self.load:
            flags += ["--timeout", f"{self.load['timeout_s']:g}s"]
        if self.load.get("store") is False:
            flags += ["--noload"]
        return flags


def application_names(folder: Path | None = None) -> tuple[str, ...]:
    """Names of the applications that come with BayOp, or of those in a folder.

    Raises:
        InputError: the folder can't be read.
    """
    folder = folder or _shipped()
    try:
        return tuple(sorted(entry.name for entry in folder.iterdir() if (entry / FILE).is_file()))
    except OSError as error:
        raise unreadable(folder, error) from error


def find_application(name: str, folder: Path | None = None) -> Application:
    """An application by its name.

    Args:
        name: `nginx`.
        folder: Where folders with definitions are; None for those that come with BayOp.

    Raises:
        InputError: there is none of that name, its definition is wrong, or the folder can't be read.
    """
    names = application_names(folder)
    if name not in names:
        hint = guess(name, names) or f"known here: {', '.join(names) or 'none'}"
        raise InputError(wrong=f"there is no application {name!r}", value=name, hint=hint)
    return Application.read((folder or _shipped()) / name / FILE)


def _shipped() -> Path:
    return Path(str(resources.files("bayop.applications")))


def _packages(form: str, example: str) -> Reader:
    name = re.compile(form)

    def read(value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(v, str) and name.fullmatch(v) for v in value):
            raise InputError(f"it must be a list of packages such as {example}", value=value)
        return tuple(value)

    return read


def _start(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(word, str) for word in value):
        raise InputError("it must be a list of texts: a program and its arguments", value=value)
    text(value[0])
    for name in (name for word in value for name in _PLACEHOLDER.findall(word)):
        if name not in _WORDS:
            hint = guess(name, _WORDS) or f"known here: {', '.join(_WORDS)}"
            raise InputError(wrong=f"nothing is filled in for {{{name}}}", value=name, hint=hint)
    return tuple(value)


def _live(file: TomlFile) -> Live | None:
    if not (values := file.read("live", _LIVE)):
        return None
    file.require("live", values, _LIVE, f"a search must have {', '.join(_LIVE)}")
    return Live(**values)


def _file_names(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        raise InputError("it must be a list of files", value=value)
    return tuple(_file_name(name) for name in value)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error).but(place=None) from error


def _file_name(name: str) -> str:
    if Path(name).name != name:
        raise InputError("the name of a file must have no folder", value=name)
    return name


_TABLES: Final = ("packages", "knobs", "load", "live", "files")
# Debian's archive has one version of a package for a release; a registry that has all must be told which.
_PACKAGES: Final[Mapping[str, Reader]] = {
    "apt": _packages(r"[a-z0-9][a-z0-9+.-]+(=[A-Za-z0-9.+:~-]+)?", "nginx, or nginx=1.22.1-9"),
    "pypi": _packages(r"[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9.!+]+", "pocketsphinx==5.1.1"),
    "npm": _packages(r"(@[a-z0-9._-]+/)?[a-z0-9][a-z0-9._-]*@[0-9][A-Za-z0-9.+-]*", "fastify@4.28.1"),
}
_KEYS: Final[Mapping[str, Reader]] = {
    "licence": text,
    "start": _start,
    "port": whole(1, 65535),
    "protocol": one_of(get_args(Dialect), "protocol"),
}
_OPTIONAL: Final[Mapping[str, Reader]] = {
    "prepare": _start,
    "ready": _start,
    "ready_within_s": number(0.1, 600.0),
    "brings": text,
    "build": text,
    "beside": _file_names,
}
_LOAD: Final[Mapping[str, Reader]] = {
    "path": text,
    "query": text,
    "user": text,
    "store": flag,
    "timeout_s": number(0.001, 3600.0),
}
_LIVE: Final[Mapping[str, Reader]] = {
    "share": number(0.01, 0.9),
    "window_requests": whole(1, 10**6),
    "slo": lambda value: Slo.single(text(value)),
}
