"""The file of a class of servers: what `bayop fit --prior` writes, and searches with `--prior` read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bayop.errors import InputError
from bayop.optimize.grey_box.outputs import RESIDUAL_SCALES
from bayop.optimize.grey_box.prior import SHAPES
from bayop.optimize.server_class import ServerClass, Spread
from bayop.toml_file import Reader, TomlFile, number, whole

_HEAD: Final = """\
# A class of servers, learned by `bayop fit --prior`: for `bayop tune --prior`, and `prior` in a bayop.toml.
# docs/search.md has the formulas. A parameter is normal on the scale that its name says; d0 is relative to the typical
# delay, and k to the quantile. The residual is how likely the formulas are off by 1, 2, ... times what is least.
"""
_MOST_SERVERS: Final = 1_000_000
_LARGEST: Final = 100.0
_LEAST_SD: Final = 1e-3
_LEAST_SHARE: Final = 1e-6
_ROUNDING: Final = 1e-3


@dataclass(frozen=True, slots=True)
class PriorFile:
    """What the file says.

    Attributes:
        servers: How many servers the class was learned from; a server under two loads counts as two.
        studies: The files of their studies.
        server_class: The class.
    """

    servers: int
    studies: tuple[str, ...]
    server_class: ServerClass

    @classmethod
    def read(cls, path: Path) -> PriorFile:
        """Reads and checks a file.

        Raises:
            InputError: it can't be read, a key is unknown or missing, or a value is not what it has to be.
        """
        file = TomlFile(path)
        file.check_tables({"parameters": None, "residual": None}, _TOP)
        top = _whole(file, "", _TOP)
        shapes = _whole(file, "parameters", dict.fromkeys(SHAPES, _spread))
        shares = _whole(file, "residual", {_name(scale): number(_LEAST_SHARE, 1.0) for scale in RESIDUAL_SCALES})
        if abs(sum(shares.values()) - 1.0) > _ROUNDING:
            place = file.place("residual")
            raise InputError("the shares of the residual must add up to 1", value=sum(shares.values()), place=place)
        residual = {scale: shares[_name(scale)] for scale in RESIDUAL_SCALES}
        return cls(top["servers"], top["studies"], ServerClass(shapes, residual))

    def __str__(self) -> str:
        """The file's text."""
        known = self.server_class
        studies = ", ".join(f'"{_escaped(study)}"' for study in self.studies)
        lines = [f"{_HEAD}servers = {self.servers}", f"studies = [{studies}]", "", "[parameters]"]
        lines += [f'"{name}" = {{ mean = {mean:.6f}, sd = {sd:.6f} }}' for name, (mean, sd) in known.shapes.items()]
        lines += ["", "[residual]", *(f'"{_name(scale)}" = {share:.6f}' for scale, share in known.residual.items())]
        return "\n".join([*lines, ""])


def _whole(file: TomlFile, table: str, keys: Mapping[str, Reader]) -> dict[str, Any]:
    """The values of a table that has all its keys."""
    values = file.read(table, keys)
    if missing := [key for key in keys if key not in values]:
        where = f"[{table}]" if table else "the file"
        rule = f"{where} must have {', '.join(keys)}"
        hint = "bayop fit --prior writes it anew"
        raise InputError(rule, wrong=f"{missing[0]} is missing", place=file.place(table), hint=hint)
    return {key: values[key] for key in keys}


def _spread(value: object) -> Spread:
    if not isinstance(value, dict) or set(value) != {"mean", "sd"}:
        raise InputError("a parameter must be { mean = NUMBER, sd = NUMBER }", value=value)
    return Spread(number(-_LARGEST, _LARGEST)(value["mean"]), number(_LEAST_SD, _LARGEST)(value["sd"]))


def _studies(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(name, str) and name for name in value):
        raise InputError("it must be a list of files", value=value)
    return tuple(value)


_TOP: Final[Mapping[str, Reader]] = {"servers": whole(1, _MOST_SERVERS), "studies": _studies}


def _name(scale: float) -> str:
    return f"{scale:g}"


def _escaped(text: str) -> str:
    return "".join(c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08X}" for c in text)
