"""A user's defaults of flags: environment over the user's file over the system's; what is typed beats them all."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bayop.cli.commands import Command, all_commands, commands
from bayop.errors import InputError, unreadable

if TYPE_CHECKING:
    from bayop.toml_file import TomlFile

SYSTEM: Final = Path("/etc/bayop/config.toml")
PREFIX: Final = "BAYOP_"
# BAYOP_SETTING is what a latency command is told.
_NOT_SETTABLE: Final = ("help", "version", "json", "markdown", "events", "setting")


@dataclass(frozen=True, slots=True)
class Default:
    """What a flag is when it is not typed.

    Attributes:
        words: The verb, and its action.
        flag: The flag's name: `max-trials`.
        text: The value as a person would type it.
        value: The value as it is used.
        source: Where it was found: `BAYOP_SLO`, or a file with its line.
    """

    words: tuple[str, ...]
    flag: str
    text: str
    value: Any
    source: str


def files() -> list[Path]:
    """Where defaults may stand, those that count more first."""
    home = os.environ.get("XDG_CONFIG_HOME")
    with suppress(RuntimeError):  # a user whom nobody knows has no home
        home = home or str(Path.home() / ".config")
    return [Path(home) / "bayop" / "config.toml", SYSTEM] if home else [SYSTEM]


def is_there(path: Path) -> bool:
    """Whether defaults stand in a file; one that can't be seen may well have some.

    Raises:
        InputError: nobody can tell, as where its folder may not be entered.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        hint = "let this user enter its folder; where HOME is somebody else's, set HOME or XDG_CONFIG_HOME"
        raise unreadable(path, error).but(hint=hint) from error
    return True


def apply(parser: argparse.ArgumentParser) -> list[Default]:
    """Gives the flags of all loaded verbs their defaults, and says which these are.

    Raises:
        InputError: a file can't be read, or names what is no flag; or a value is none of its flag's.
    """
    here = [path for path in files() if is_there(path)]
    if not here and not any(name.startswith(PREFIX) for name in os.environ):
        return []
    verbs = [command for command in commands(parser) if command.words]
    config_files = _open_files(here)
    entries = []
    for command in verbs:
        replaced: dict[str, tuple[Any, Any]] = {}
        command.parser.set_defaults(replaced=replaced)
        for name, action in _settable(command).items():
            for place, raw in _sources(command, name, config_files):
                value = _value(action, raw, place)
                replaced[action.dest] = (value, command.parser.get_default(action.dest))
                # For every flag of this name: argparse takes the first one's.
                command.parser.set_defaults(**{action.dest: value})
                action.required = False
                entries.append(Default(command.words, name, _typed(raw), value, place))
                break
    return entries


def typed(args: argparse.Namespace) -> argparse.Namespace:
    """The flags as if the user had no defaults: who typed nothing of a flag did not ask for it to be of use."""
    replaced: dict[str, tuple[Any, Any]] = getattr(args, "replaced", {})
    own = {dest: own for dest, (value, own) in replaced.items() if getattr(args, dest) == value}
    return argparse.Namespace(**vars(args) | own)


def _open_files(paths: Sequence[Path]) -> list[TomlFile]:
    """The files, whose every key is a flag of some verb."""
    from bayop.toml_file import TomlFile

    config_files = [TomlFile(path) for path in paths]
    if not config_files:
        return []
    flags = {"-".join(command.words): _as_given(_settable(command)) for command in all_commands() if command.words}
    every = {name: read for keys in flags.values() for name, read in keys.items()}
    for file in config_files:
        file.check_tables({table: None for table, keys in flags.items() if keys}, every)
        for table, keys in flags.items():
            file.read(table, keys)
    return config_files


def _as_given(flags: Mapping[str, argparse.Action]) -> dict[str, Any]:
    return dict.fromkeys(flags, lambda value: value)


def _settable(command: Command) -> dict[str, argparse.Action]:
    """The flags that may have a default, by their long names.

    Of flags that exclude each other none has: one that is typed would not take the place of the other's default.
    """
    by_name = {
        action.option_strings[0 if isinstance(action, argparse.BooleanOptionalAction) else -1].lstrip("-"): action
        for action in command.flags()
    }
    return {
        name: action
        for name, action in by_name.items()
        if name not in _NOT_SETTABLE and not _is_excluded(command.parser, action)
    }


def _is_excluded(parser: argparse.ArgumentParser, action: argparse.Action) -> bool:
    """Whether another flag, which sets something else, excludes this one."""
    groups = parser._mutually_exclusive_groups  # noqa: SLF001 -- argparse shows them to nobody
    members = (group._group_actions for group in groups)  # noqa: SLF001
    return any(action in among and any(other.dest != action.dest for other in among) for among in members)


def _sources(command: Command, name: str, config_files: list[TomlFile]) -> Iterator[tuple[str, object]]:
    """Every value that is given for a flag with its place, the one that counts first."""
    variable = PREFIX + name.replace("-", "_").upper()
    if variable in os.environ:
        yield variable, os.environ[variable]
    for file in config_files:
        for table in ("-".join(command.words), ""):
            values = file.values(table)
            if name in values:
                yield file.place(table, name), values[name]


def _value(action: argparse.Action, raw: object, place: str) -> Any:  # noqa: ANN401 -- as the flag has it
    """The value as argparse would have it from the command line.

    Raises:
        InputError: it is none of the flag's.
    """
    if action.nargs == 0:
        if raw not in (True, False, "1", "0", "true", "false"):
            raise InputError("a flag without a value must be true or false", value=raw, place=place)
        switched_on = raw in (True, "1", "true")
        if isinstance(action, argparse.BooleanOptionalAction):
            return switched_on
        return action.const if switched_on else action.default
    many = isinstance(action, argparse._AppendAction)  # noqa: SLF001 -- argparse has no other name for it
    texts = [_typed(part) for part in raw] if many and isinstance(raw, list) else [_typed(raw)]
    values = [_read(action, text, place) for text in texts]
    return _Given(values) if many else values[0]


class _Given(list[Any]):
    """The values of a flag that may be typed several times: those that are typed take their place."""

    def __copy__(self) -> list[Any]:
        """What argparse adds the typed ones to."""
        return []


def _read(action: argparse.Action, text: str, place: str) -> Any:  # noqa: ANN401
    try:
        value = action.type(text) if callable(action.type) else text
    except InputError as error:
        raise error.but(place=f"{place}, {error.place}" if error.place else place) from error
    if action.choices is not None and value not in action.choices:
        raise InputError(f"it must be one of {', '.join(map(str, action.choices))}", value=text, place=place)
    return value


def _typed(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
