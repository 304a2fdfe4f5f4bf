from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bayop.errors import InputError, UnsupportedError
from bayop.idle.recorder import COLUMNS, record
from bayop.idle.stays import NETWORK, TICK

HEADER = ",".join(COLUMNS)
SUMMARY = '{"stays":3,"lost":0,"duration_s":0.1,"governor":"menu","driver":"acpi_idle","timers":true}'


def program(tmp_path: Path, *lines: str) -> list[str]:
    """One that prints these lines, as a recorder does."""
    path = tmp_path / "recorder.py"
    path.write_text("".join(f"print({line!r})\n" for line in lines), encoding="utf-8")
    return [sys.executable, str(path)]


def test_stays_are_parted_by_cpu_in_order(tmp_path: Path) -> None:
    lines = ("1,9,8,7,3,0,-1,2,6,1", "0,1,2,3,1,4,5,0,6,0", "1,19,8,7,1,1,4,3,6,0")
    recording = record(program(tmp_path, HEADER, *lines, SUMMARY), duration_s=0.1, cost=False)
    assert list(recording.of_cpu) == [0, 1]
    assert recording.of_cpu[1] == [(9, 8, 7, TICK, 0, -1, 2, 6, 1), (19, 8, 7, NETWORK, 1, 4, 3, 6, 0)]
    assert recording.summary["governor"] == "menu"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ((HEADER, "1,2,3"), "a recorder must print stays"),
        (("nonsense",), "a recorder must print stays"),
        ((HEADER, "1,9,8,7,3,0,-1,2,6,1"), "before its last line"),
    ],
)
def test_what_is_no_recording_is_refused(tmp_path: Path, lines: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        record(program(tmp_path, *lines), duration_s=0.1, cost=True)


def test_a_machine_that_cannot_be_recorded_says_so_in_the_recorders_words(tmp_path: Path) -> None:
    path = tmp_path / "recorder.py"
    path.write_text(
        "import sys\nsys.stderr.write('error: no BPF here; really\\nhint: elsewhere\\n')\nsys.exit(4)\n",
        encoding="utf-8",
    )
    with pytest.raises(UnsupportedError, match="no BPF here") as caught:
        record([sys.executable, str(path)], duration_s=0.1, cost=False)
    assert caught.value.hint == "elsewhere"


def test_a_recorder_that_is_not_there_is_named() -> None:
    with pytest.raises(UnsupportedError, match="cannot run bayop-nowhere") as caught:
        record(["bayop-nowhere"], duration_s=0.1, cost=False)
    assert caught.value.hint is not None
    assert "make probe" in caught.value.hint
