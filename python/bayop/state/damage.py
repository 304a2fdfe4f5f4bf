"""Rows that are not as we wrote them: somebody else has, or a disk. Each is left out, and said to be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn, TypedDict, TypeVar

import msgspec

from bayop.errors import BayopError, reason
from bayop.json_text import decoder

T = TypeVar("T")

_Quantity = Annotated[float, msgspec.Meta(ge=0, le=1e15)]
"""What a window may show."""
_Load = Annotated[float, msgspec.Meta(gt=0, le=1e15)]
"""What is divided by."""
# As they were written: a whole number stays one.
_Whole = Annotated[int, msgspec.Meta(ge=-(10**15), le=10**15)]
_Setting = dict[str, _Whole | Annotated[float, msgspec.Meta(ge=-1e15, le=1e15)] | str]
_Finite = Annotated[float, msgspec.Meta(ge=-1e15, le=1e15)]
_JSON: Final = {"setting", "measured", "relative_sd", "fields"}

SOUND_WINDOW: Final = """
max(abs(start_s), abs(duration_s), abs(qps), abs(over_share), abs(ifnull(power_w, 0)), abs(ifnull(latency_us, 0)))
  <= 1e15
"""
"""Of a row of `window`, whether it has its numbers and each is finite, as `Summed` says it: what SQL sums."""

DAMAGED_WINDOWS: Final = f"""
SELECT 'window', id, start_s, duration_s, qps, over_share, power_w, latency_us FROM window
WHERE service = ?1 AND start_s BETWEEN ?2 AND ?3 AND NOT ifnull({SOUND_WINDOW}, 0)
"""  # noqa: S608 -- our own words
"""The windows of a service between two times that are not to be summed."""


class Observed(TypedDict):
    """A row of `observation`."""

    setting: _Setting
    measured: dict[str, _Quantity]
    relative_sd: dict[str, _Quantity]
    cut_short: str | None
    qps: _Load


class FoundRow(TypedDict):
    """What was found, or held later instead."""

    qps: _Load
    setting: _Setting


class Numbered(TypedDict):
    """The number of a search."""

    number: Annotated[int, msgspec.Meta(ge=1, le=10**15)]


class Advised(TypedDict):
    """What advice has expected of a setting; None where the default would stay."""

    setting: _Setting | None
    qps: _Load
    predicted: dict[str, _Load]
    relative_sd: dict[str, _Quantity]


class AdviceSaid(TypedDict):
    """An event of advice, or of what came of it."""

    event: str
    fields: Advised


class Summed(TypedDict):
    """What is summed of a row of `window`."""

    start_s: _Finite
    duration_s: _Finite
    qps: _Finite
    over_share: _Finite
    power_w: _Finite | None
    latency_us: _Finite | None


class SwitchbackRow(TypedDict):
    """A row of `switchback`."""

    start_s: _Finite
    before_w: _Finite
    default_w: _Finite
    after_w: _Finite
    pause_s: _Finite


def rescue(path: Path) -> str:
    """What to do about a file that is damaged."""
    return f"move it aside, and what can be saved comes with: sqlite3 OLD.db .recover | sqlite3 {path}"


class StateError(BayopError):
    """What has happened can't be remembered, or is damaged: exit code 1."""


def raise_damage(error: BayopError) -> NoReturn:
    """Refuses a state that has such a row."""
    raise error


def sound(
    rows: Iterable[Sequence[Any]], kind: type[T], path: Path, on_damage: Callable[[StateError], object]
) -> Iterator[T]:
    """Rows as what they should be, less those that are not.

    Args:
        rows: Their tables and ids, and what `kind` has, in its order.
        kind: What they should be.
        path: The file that they come from.
        on_damage: Called with what is wrong with each that is left out.
    """
    names = kind.__annotations__
    decoder(kind)  # has it met the type, which `convert` alone must not do in two threads at once
    for table, row_id, *values in rows:
        try:
            named = zip(names, values, strict=True)
            fields = {name: msgspec.json.decode(value) if name in _JSON else value for name, value in named}
            row = msgspec.convert(fields, kind)
        except (ValueError, TypeError, RecursionError) as error:
            on_damage(
                StateError(
                    wrong=f"the {table} with id {row_id} in {path} is damaged: {reason(error)}",
                    place=str(path),
                    hint=f"without it all is well: sqlite3 {path} 'DELETE FROM {table} WHERE id = {row_id}'",  # noqa: S608
                )
            )
        else:
            yield row
