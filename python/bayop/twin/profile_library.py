"""Where the text of a profile comes from: built-in profiles, files, and both put together from parts.

A profile file is complete, or it names another one, `base = "linux-memcached"`, and says only what differs. Any
profile can be put on another machine: `linux-xapian@xeon-silver-4314` takes the hardware from a machine file, built-in
or not, which has a complete `[machine]` and may change keys of `[os]` that come with the hardware, such as what the
network card's driver does by default. What differs under one operating system only stands in `[linux.os]`,
`[ebbrt.machine.power]` and so on.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Final, TypeAlias

from bayop import _core
from bayop.errors import InputError
from bayop.files import read_text
from bayop.twin.profile_text import lines_of

BASE: Final = "base"
"""The key by which a profile file names the one that it starts from."""

Origins: TypeAlias = Mapping[str, str]
"""Where every dotted key stands: `mine.toml, line 7`."""

_SYSTEMS: Final = {"steered": "linux", "run-to-completion": "ebbrt"}
"""Tables of a machine file for one operating system, by how it dispatches requests."""

_MOST_DEPTH: Final = 5
"""`ebbrt.machine.idle_states.2.wake_us`."""

_MOST_BASES: Final = 8
"""More files than anybody would have a profile start from, one after the other: they start from each other."""


def load_profile(name_or_file: str) -> _core.Profile:
    """A built-in profile (`linux-memcached`) or a TOML file, on its own machine or another (`linux-xapian@epyc-ena`).

    Raises:
        InputError: there is no such profile, or its text breaks a rule.
    """
    text, source = read_profile(name_or_file)
    return parse_profile(text, source=source)


def parse_profile(text: str, *, source: str) -> _core.Profile:
    """A profile from TOML text.

    Raises:
        InputError: with file, line and key, for an unknown key, a wrong unit or a value out of range.
    """
    try:
        return _core.Profile(text, source=source)
    except _core.Error as error:
        raise InputError.of(error) from error


def with_values(profile: _core.Profile, values: Mapping[str, str | float]) -> _core.Profile:
    """The same server with other values at some keys, such as `app.request_kcycles` or `os.idle_governor`.

    Raises:
        InputError: the profile has no such key, or may not have that value there.
    """
    try:
        return profile.with_values(dict(values))
    except _core.Error as error:
        raise InputError.of(error) from error


def polling(profile: _core.Profile) -> _core.Profile:
    """The same server with cores that spin on their queues; it has no ITR-delay left to set."""
    return profile.with_values({"os.dispatch": "polling"})


def read_profile(name_or_file: str) -> tuple[str, str]:
    """The complete text of a profile, and what to call it in messages.

    Args:
        name_or_file: `linux-memcached`, `mine.toml`, or either on another machine: `linux-xapian@xeon-silver-4314`,
            `mine.toml@my-machine.toml`.

    Raises:
        InputError: there is no such profile or machine, or the files don't fit together; of what is put together from
            parts, also that it breaks a rule.
    """
    name, at, machine = name_or_file.partition("@")
    text, source, origins = _complete(name)
    if not at:
        return text, source
    part, machine_source = _text_of(machine, _machines(), "machine")
    table, system = _on_machine(_parsed(text, source), _parsed(part, machine_source), machine_source)
    own = _origins(part, machine_source)
    under = {key.removeprefix(f"{system}."): place for key, place in own.items() if key.startswith(f"{system}.")}
    return _put_together(table, {**origins, **own, **under}, f"{source} on {machine_source}")


def profile_names() -> tuple[str, ...]:
    """Names of the built-in profiles."""
    return tuple(sorted(_profiles()))


def _profiles() -> Mapping[str, Traversable]:
    return _toml_files(resources.files("bayop.twin.profiles"))


def _machines() -> Mapping[str, Traversable]:
    return _toml_files(resources.files("bayop.twin.profiles") / "machines")


def _toml_files(folder: Traversable) -> Mapping[str, Traversable]:
    files = (f for f in folder.iterdir() if f.name.endswith(".toml"))
    return {f.name.removesuffix(".toml").replace("_", "-"): f for f in files}


def _text_of(name_or_file: str, built_in: Mapping[str, Traversable], what: str) -> tuple[str, str]:
    """The text of a built-in part or of a file, and its name."""
    if name_or_file in built_in:
        file = built_in[name_or_file]
        return file.read_text(encoding="utf-8"), file.name
    path = Path(name_or_file)
    if path.suffix != ".toml":
        hint = f"built-in {what}s: {', '.join(sorted(built_in))}; a file's name ends in .toml"
        raise InputError(wrong=f"there is no {what} {name_or_file!r}", value=name_or_file, hint=hint)
    return read_text(path), str(path)


def _complete(name: str) -> tuple[str, str, Origins]:
    """The text of a profile with what its bases say; a file without a base as it is, comments included."""
    text, source = layer = _text_of(name, _profiles(), "profile")
    layers, base = [layer], _base_of(text, source)
    if base is None:
        return text, source, _origins(text, source)
    while base is not None:
        place = _place_of_base(*layers[-1])
        if len(layers) == _MOST_BASES:
            raise InputError("a profile must start from a complete one in the end", value=base, place=place)
        try:
            layers.append(_text_of(base, _profiles(), "profile"))
        except InputError as error:
            raise error.but(place=place) from error
        base = _base_of(*layers[-1])
    table: dict[str, Any] = {}
    origins: Origins = {}
    for layer in reversed(layers):
        table, origins = _merged(table, _parsed(*layer)), {**origins, **_origins(*layer)}
    del table[BASE]
    return *_put_together(table, origins, f"{source} with its base"), origins


def _base_of(text: str, source: str) -> str | None:
    """What a profile starts from; None for a complete one, and for text that the core will refuse anyway."""
    try:
        base = tomllib.loads(text).get(BASE)
    except (ValueError, RecursionError):
        return None
    if base is not None and not isinstance(base, str):
        place = _place_of_base(text, source)
        raise InputError("a profile must start from one other, by name", value=base, place=place)
    return base


def _place_of_base(text: str, source: str) -> str:
    return f"{_origin(BASE, _origins(text, source), source)}, key {BASE}"


def _origins(text: str, source: str) -> Origins:
    return {key: f"{source}, line {line}" for key, line in lines_of(text).items()}


def _put_together(table: Mapping[str, Any], origins: Origins, source: str) -> tuple[str, str]:
    """The text of a profile that is put together from parts, and what to call it.

    Raises:
        InputError: it breaks a rule; the error names the part and the line where the key stands.
    """
    text = _spelled(table)
    try:
        parse_profile(text, source=source)
    except InputError as error:
        place = re.fullmatch(rf"{re.escape(source)}, line (?P<line>\d+)(?P<key>.*)", error.place or "", re.DOTALL)
        if place is None:
            raise
        keys = {line: key for key, line in lines_of(text).items()}
        key = keys.get(int(place["line"]))
        if key is None:  # one in quotes
            raise
        raise error.but(place=_origin(key, origins, source) + place["key"]) from error
    return text, source


def _origin(key: str, origins: Origins, source: str) -> str:
    """Where a key stands, or the table that it is in where it has no line of its own."""
    while key and key not in origins:
        key = key.rpartition(".")[0]
    return origins.get(key, source)


def _parsed(text: str, source: str) -> dict[str, Any]:
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(wrong=f"the file is not TOML: {error}", value=str(error), place=source) from error
    for key, value in table.items():
        _check(value, key, source)
    return table


def _check(value: object, key: str, source: str, depth: int = 1) -> None:
    """Refuses what no profile has: dates, tables deep in tables, and lists of tables and others."""
    if isinstance(value, dict) and depth < _MOST_DEPTH:
        for name, below in value.items():
            _check(below, f"{key}.{name}", source, depth + 1)
    elif isinstance(value, list) and depth < _MOST_DEPTH and len({isinstance(item, dict) for item in value}) <= 1:
        for at, below in enumerate(value):
            _check(below, f"{key}.{at}", source, depth + 1)
    elif not isinstance(value, str | int | float):
        raise InputError(
            "a profile must have words, numbers, lists of them, tables and lists of tables",
            value=str(value)[:40],
            place=f"{source}, key {key[:80]}",
        )


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Tables key by key; everything else, lists too, is the upper one's."""
    table = dict(below)
    for key, value in above.items():
        both_tables = isinstance(value, dict) and isinstance(below.get(key), dict)
        table[key] = _merged(below[key], value) if both_tables else value
    return table


def _on_machine(profile: Mapping[str, Any], part: Mapping[str, Any], source: str) -> tuple[dict[str, Any], str]:
    """The profile with the machine file's hardware and what of the system comes with it, and which system that is."""
    if "machine" not in part or not part.keys() <= {"machine", "os", *_SYSTEMS.values()}:
        raise InputError(
            "a machine file must have [machine], maybe [os], [linux] and [ebbrt], and nothing else",
            value=", ".join(part),
            place=source,
        )
    for key, value in (*part.items(), ("os", profile.get("os", {}))):
        if not isinstance(value, dict):
            raise InputError(f"{key} must be a table", value=str(value)[:40], place=f"{source}, key {key}")
    without = {key: value for key, value in profile.items() if key != "machine"}
    system = _SYSTEMS.get(str(profile.get("os", {}).get("dispatch")), "")
    for_all = {key: value for key, value in part.items() if key not in _SYSTEMS.values()}
    return _merged(_merged(without, for_all), part.get(system, {})), system


def _spelled(table: Mapping[str, Any]) -> str:
    """TOML of a profile: words, numbers, lists of numbers, tables and lists of tables."""
    return "\n".join(_lines(table, "")) + "\n"


def _lines(table: Mapping[str, Any], prefix: str) -> Iterator[str]:
    plain = {k: v for k, v in table.items() if not isinstance(v, dict) and not _is_tables(v)}
    yield from (f"{key} = {_spelled_value(value)}" for key, value in plain.items())
    for key, value in table.items():
        if isinstance(value, dict):
            yield from ("", f"[{prefix}{key}]", *_lines(value, f"{prefix}{key}."))
        elif _is_tables(value):
            for item in value:
                yield from ("", f"[[{prefix}{key}]]", *_lines(item, f"{prefix}{key}."))


def _spelled_value(value: object) -> str:
    """What JSON says of words, numbers and lists of them, TOML says too, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", r"\u007f")


def _is_tables(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)
