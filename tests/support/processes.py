"""What tests ask of processes that others have started."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")


def lives(pid: int) -> bool:
    """Whether a process goes on for a second; one that has ended and waits for its parent to look does not."""
    for _ in range(50):
        try:
            status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        except (FileNotFoundError, ProcessLookupError):
            return False
        if "\nState:\tZ" in status:
            return False
        time.sleep(0.02)
    return True


def cpu_s(pid: int) -> float:
    """The processor time of a process until now, without those that it has started (proc(5), stat)."""
    ticks = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[11:13]
    return sum(map(int, ticks)) / _TICKS_PER_S


def children(pid: int) -> list[int]:
    """Those that a process has started, whichever of its threads did."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for path in lists for child in path.read_text(encoding="ascii").split()]


def descendants(pid: int) -> list[int]:
    """Its children, and theirs."""
    return [process for child in children(pid) for process in (child, *descendants(child))]
