"""Small studies that come with BayOp, so that everything that reads a study can be tried at once."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Final

from bayop.errors import InputError, guess

PREFIX: Final = "example:"
"""What the name of an example begins with where a study's file may stand."""

_SUFFIX: Final = ".csv.gz"


def example_names() -> tuple[str, ...]:
    """The examples: `memcached`, `silo`; `examples/README.md` says where each comes from."""
    return tuple(sorted(file.name.removesuffix(_SUFFIX) for file in _folder().glob(f"*{_SUFFIX}")))


def example_file(name: str) -> Path:
    """The file of an example.

    Raises:
        InputError: there is no such example.
    """
    names = example_names()
    if name not in names:
        listing = f"the examples are {', '.join(PREFIX + name for name in names)}"
        hint = " ".join(filter(None, (guess(name, names, prefix=PREFIX), listing)))
        raise InputError(wrong=f"there is no example {name!r}", hint=hint)
    return _folder() / f"{name}{_SUFFIX}"


def study_file(study: Path | str) -> Path:
    """The file of a study: a path, or `example:memcached` for one that comes with BayOp.

    Raises:
        InputError: there is no such example.
    """
    if isinstance(study, str) and study.startswith(PREFIX):
        return example_file(study.removeprefix(PREFIX))
    return Path(study)


def _folder() -> Path:
    return Path(str(resources.files("bayop.study") / "examples"))
