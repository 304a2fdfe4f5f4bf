from __future__ import annotations

from pathlib import Path

import pytest

from bayop.errors import InputError
from bayop.idle.machines import MACHINES
from bayop.idle.replay import follow
from bayop.idle.stays import NETWORK, OTHER, TICK, TIMER, periods
from bayop.idle.trace import Trace, read_trace, write_trace

SANDY_BRIDGE = MACHINES["sandy-bridge"]

# A tick in the middle of a period, one that found work, and packets.
STAYS = (
    (1_000, 500, 9_000, NETWORK, 1, 5, 2, 3_000, 0),
    (2_000, 2_000, 8_000, TICK, 0, 600, 3, 2_000, 0),
    (4_010, 1_000, 5_990, OTHER, 0, 2_610, 4, 3_990, 1),
    (6_000, 3_000, 20_000, TICK, 0, 4_600, 4, 3_000, 0),
    (9_100, 900, 900, TIMER, 2, 20, 4, 4_000, 0),
)


def test_a_tick_that_woke_nothing_ends_no_period() -> None:
    assert list(periods(STAYS)) == [
        (1_000, 500, 9_000, NETWORK, 1, 5),
        (2_000, 3_010, 8_000, OTHER, 0, 600),
        (6_000, 3_000, 20_000, TIMER, 0, 4_600),
        (9_100, 900, 900, TIMER, 2, 20),
    ]


def test_packets_after_a_tick_begin_a_period() -> None:
    packets = (STAYS[1], (4_010, 1_000, 5_990, OTHER, 1, 10, 4, 3_990, 1))
    assert [row[1] for row in periods(packets)] == [2_000, 1_000]


def test_stays_are_written_and_read_with_the_periods_that_they_make(tmp_path: Path) -> None:
    trace = Trace("cpu0", tuple(periods(STAYS)), STAYS)
    write_trace(trace, tmp_path / "cpu0.csv.gz")
    assert read_trace(tmp_path / "cpu0.csv.gz") == trace


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("1,2,3,0,0,-1,1,4", "nine whole numbers"),
        ("1,2,3,0,0,-1,10,4,0", "state must be 0 to 9"),
        ("1,2,3,0,0,-1,1,4,2", "resumed be 0 or 1"),
        ("1,2,3,4,0,-1,1,4,0", "waker must be"),
        ("1,-2,3,3,0,-1,1,4,0", "numbers must be 0 or more"),
    ],
)
def test_a_line_that_is_no_stay_is_refused_with_its_number(tmp_path: Path, line: str, rule: str) -> None:
    path = tmp_path / "cpu0.csv"
    write_trace(Trace("cpu0", (), STAYS), path)
    path.write_text(path.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=rule) as caught:
        read_trace(path)
    assert caught.value.place == f"{path}:7"


def test_a_governor_is_held_against_the_choices_that_were_recorded() -> None:
    """Of periods of 2 ms that the network ends, a kernel chose C7 for two, and C1 for the others."""
    stays = tuple((2_100 * i, 2_000, 10_000_000, NETWORK, 1, 5, 4 if i < 2 else 1, 4_000, 0) for i in range(1_000))
    choices = follow(Trace("cpu0", tuple(periods(stays)), stays), "menu", SANDY_BRIDGE)
    assert [sum(row) for row in choices] == [0, 998, 0, 0, 2]
    assert choices[1][4] > 900  # it has learned that they are long
