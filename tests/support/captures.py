"""What `bayop-interrupts-record` prints, made up."""

from __future__ import annotations

import json
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO

import numpy as np

from bayop.interrupts.capture import recorded

FIELDS = ("time_ns", "irq", "cpu", "rx_packets", "rx_bytes", "tx_packets", "tx_bytes", "polls", "idle_ns_C1")
RECORD = np.dtype([(name, "<u8") for name in FIELDS])
SUMMARY = {"records": 4, "lost": 2, "duration_s": 0.1, "rest_rx_packets": 0, "rest_tx_packets": 5}


def header(**change: object) -> bytes:
    """The first line, of a NIC with two queues."""
    fields = [{"name": name, "offset": 8 * number, "bytes": 8} for number, name in enumerate(FIELDS)]
    queues = [{"irq": 24, "name": "eth0-rx-0"}, {"irq": 25, "name": "eth0 tx/0"}]
    said = {"device": "eth0", "queues": queues, "record_bytes": RECORD.itemsize, "fields": fields, **change}
    return f"{json.dumps(said)}\n".encode()


def chunk(
    *rows: tuple[int, ...], lost: int = 0, time_s: float = 0.05, delay_us: float | None = 2.0, **more: object
) -> bytes:
    """The records of a moment."""
    line = json.dumps({"records": len(rows), "lost": lost, "time_s": time_s, "delay_us": delay_us, **more})
    return f"{line}\n".encode() + np.array(list(rows), RECORD).tobytes()


RECORDING = (
    header()
    + chunk((1_000, 24, 0, 3, 300, 1, 60, 2, 400), (1_500, 25, 1, 0, 0, 2, 120, 0, 900), lost=1)
    + chunk((3_000, 24, 1, 1, 100, 0, 0, 1, 1_600), (9_000, 24, 1, 0, 0, 0, 0, 1, 0), lost=2, time_s=0.1)
    + f"{json.dumps(SUMMARY)}\n".encode()
)


PLACE = "a recorder"


def playing(folder: Path, printed: bytes) -> AbstractContextManager[IO[bytes]]:
    """A recorder that prints this."""
    return recorded(player(folder, printed), device="eth0", duration_s=0.1)


def player(folder: Path, printed: bytes) -> list[str]:
    """A program that prints this, whatever it is asked for."""
    (folder / "printed").write_bytes(printed)
    script = folder / "player.py"
    script.write_text(f"import sys\nsys.stdout.buffer.write(open({str(folder / 'printed')!r}, 'rb').read())\n")
    return [sys.executable, str(script)]
