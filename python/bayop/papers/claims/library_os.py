"""What our own library OS says to a claim about EbbRT: instructions per request, beside Linux in one machine.

docs/libos.md says how they are counted. Other things that the papers claim of EbbRT it has no part for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated, Final, Literal

import msgspec

from bayop.errors import InputError, unreadable
from bayop.papers.claims.claim import LibraryOsFinding
from bayop.papers.claims.judge import judge_at_least

_LIBRARY_OS: Final = "libos"
_TUNED: Final = "linux-tuned"
_LINUX: Final = {"linux": "stock_linux", _TUNED: "tuned_linux"}
"""Names in the file, and as we say them."""


@dataclass(frozen=True, slots=True)
class Window:
    """What was counted in one window of `python -m bench.libos.run`.

    Attributes:
        app: The service whose requests were counted.
        system: Which it was counted on.
        connections: How many were open.
        qps: The load that was offered.
        instructions_per_request: All that the machine executed, over the requests that were served.
    """

    app: Literal["memcached", "tpcc"]
    system: Literal["libos", "smoltcp", "linux", "linux-tuned"]
    connections: int
    qps: float
    instructions_per_request: Annotated[float, msgspec.Meta(gt=0)]


def read_windows(path: Path) -> Sequence[Window]:
    """The windows of a file.

    Raises:
        InputError: The file can't be read, or is something else.
    """
    try:
        return msgspec.json.Decoder(Window).decode_lines(path.read_bytes())
    except OSError as error:
        raise unreadable(path, error).but(hint="name the file that has them") from error
    except msgspec.DecodeError as error:
        raise InputError(
            "counted instructions must be the lines that `python -m bench.libos.run` writes",
            wrong=f"cannot use {path}: {error}",
            place=str(path),
            hint="name the file that has them",
        ) from error


def factor(path: Path | None, app: str, printed: float) -> LibraryOsFinding | None:
    """Holds Linux's instructions per request of a service over the library OS's against a printed factor.

    Medians of the windows, at each load and number of connections where both were counted. Judged is the least factor
    over tuned Linux: ours is another system than EbbRT, so what the paper claims of its kind is a factor of at least
    that.

    Returns:
        None where nothing was counted.
    """
    windows = () if path is None else read_windows(path)
    medians = _medians([window for window in windows if window.app == app])
    ours = medians.get(_LIBRARY_OS, {})
    numbers: dict[str, float] = {}
    for system, name in _LINUX.items():
        theirs = medians.get(system, {})
        factors = [theirs[where] / ours[where] for where in ours.keys() & theirs.keys()]
        if factors:
            numbers |= {f"{name}_least_x": min(factors), f"{name}_greatest_x": max(factors)}
    judged = numbers.get(f"{_LINUX[_TUNED]}_least_x")
    return None if judged is None else LibraryOsFinding(numbers, judge_at_least(printed, judged), str(path))


def _medians(windows: Sequence[Window]) -> Mapping[str, Mapping[tuple[int, float], float]]:
    """Instructions per request by system, then by connections and load."""
    found: dict[str, dict[tuple[int, float], list[float]]] = {}
    for window in windows:
        where = (window.connections, window.qps)
        found.setdefault(window.system, {}).setdefault(where, []).append(window.instructions_per_request)
    return {system: {where: median(each) for where, each in some.items()} for system, some in found.items()}
