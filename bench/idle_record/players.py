"""Two CPUs that go idle as often as they can."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_PLAYER: Final = "import os, sys\nos.sched_setaffinity(0, {int(sys.argv[1])})\nwhile x := os.read(0, 1): os.write(1, x)"


@contextmanager
def ping_pong() -> Iterator[None]:
    """Two processes on CPU 0 and 1 wake each other in turns."""
    (to_first, from_second), (to_second, from_first) = (os.pipe()[::-1] for _ in range(2))
    ends = {0: (from_second, to_second), 1: (from_first, to_first)}
    players = [
        subprocess.Popen([sys.executable, "-c", _PLAYER, str(cpu)], stdin=read, stdout=write)
        for cpu, (read, write) in ends.items()
    ]
    try:
        os.write(to_first, b"x")
        yield
    finally:
        for player in players:
            player.kill()
            player.wait()
