from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from bayop.errors import InputError
from bayop.idle.counter import Window, counting

HEADER = {"states": [["POLL", 0, 0], ["C1", 2, 4]], "bounds_us": [0.0, 1.0, 2.0]}


def program(tmp_path: Path, *lines: object) -> list[str]:
    """One that prints these lines, as a counter does, and what it was told."""
    path = tmp_path / "counter.py"
    text = "".join(f"print({json.dumps(line)!r})\n" for line in lines)
    path.write_text(f"import sys\nassert sys.argv[1:] == ['--window-s', '0.25']\n{text}", encoding="utf-8")
    return [sys.executable, str(path)]


def test_windows_are_parted_by_cpu(tmp_path: Path) -> None:
    first = {"duration_s": 0.25, "stays": [[0, 1, 2, 9], [3, 0, 0, 1], [3, 1, 1, 4]], "kernel_ns_per_stay": 7.5}
    with counting(program(tmp_path, HEADER, first, {"duration_s": 0.26, "stays": []}), window_s=0.25) as counted:
        assert counted.states == (("POLL", 0, 0), ("C1", 2, 4))
        assert counted.bounds_us == (0.0, 1.0, 2.0)
        assert list(counted.windows) == [Window(0.25, {0: {(1, 2): 9}, 3: {(0, 0): 1, (1, 1): 4}}), Window(0.26, {})]


@pytest.mark.parametrize(
    "lines",
    [
        (),
        ("nonsense",),
        ({"states": HEADER["states"]},),
        (HEADER, {"duration_s": 1.0, "stays": [[0, 2, 0, 1]]}),
        (HEADER, {"duration_s": 1.0, "stays": [[0, 0, 3, 1]]}),
        (HEADER, {"duration_s": 1.0, "stays": [[0, 0, 0, -1]]}),
        (HEADER, {"duration_s": 1.0, "stays": [[0, 0, 0]]}),
    ],
)
def test_what_is_no_count_is_refused(tmp_path: Path, lines: tuple[object, ...]) -> None:
    with (
        pytest.raises(InputError, match="a counter must print the idle states"),
        counting(program(tmp_path, *lines), window_s=0.25) as counted,
    ):
        list(counted.windows)
