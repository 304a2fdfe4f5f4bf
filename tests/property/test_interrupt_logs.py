"""Fourteen thousand damaged logs: each is read, or refused with one clear error; nothing else ever happens."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from tests.support.interrupt_logs import LINES, drawn_lines, ebbrt_memory, netpipe_memory, write_lines

from bayop.errors import InputError
from bayop.interrupts.convert import convert
from bayop.interrupts.log import open_log
from bayop.interrupts.query import summarise

MUTATIONS = 14_000
KINDS = ("intlog", "ebbrt", "memory", "netpipe memory", "published", "published gzip", "parquet")
SCRAPS = (
    b"",
    b"nan",
    b"-1",
    b" ",
    b"\n",
    b",",
    b"\r\n",
    b"\x00",
    b"\xff\xfe",
    b"9" * 25,
    b'"',
    b"1e5",
    b"inf",
    b"0x1f",
    b"PAR1",
)


def mutate(content: bytes, random: np.random.Generator) -> bytes:
    """One to three damages: a byte changed, a stretch lost or doubled, something foreign put in, the end cut off."""
    for _ in range(random.integers(1, 4)):
        at = int(random.integers(0, len(content) + 1))
        length = int(random.integers(1, 40))
        match random.integers(0, 5):
            case 0:
                content = content[:at] + bytes([random.integers(0, 256)]) + content[at + 1 :]
            case 1:
                content = content[:at] + content[at + length :]
            case 2:
                content = content[:at] + content[at : at + length] * 2 + content[at + length :]
            case 3:
                content = content[:at] + SCRAPS[random.integers(0, len(SCRAPS))] + content[at:]
            case _:
                content = content[:at]
    return content


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_log_is_read_or_refused(tmp_path: Path, data: Path, kind: str) -> None:
    path = tmp_path / "log"
    if kind in {"intlog", "ebbrt"}:
        write_lines(path, LINES if kind == "intlog" else drawn_lines(30, seed=4))
    elif kind == "memory":
        path.write_bytes(ebbrt_memory(drawn_lines(30, seed=4)))
    elif kind == "netpipe memory":
        path.write_bytes(netpipe_memory(drawn_lines(30, seed=4), room=0))
    elif kind == "parquet":
        convert(open_log(write_lines(tmp_path / "text", drawn_lines(30, seed=4))), path)
    else:
        with gzip.open(data / "interrupts_netpipe_linux_default_64B.csv.gz") as stream:
            lines = b"".join(stream.readline() for _ in range(60))
        path.write_bytes(gzip.compress(lines) if kind == "published gzip" else lines)
    content = path.read_bytes()
    random = np.random.default_rng(5)
    refusals = []
    for _ in range(MUTATIONS // len(KINDS)):
        path.write_bytes(mutate(content, random))
        refusals.append(refusal(path))
    messages = [error.message for error in refusals if error is not None]
    assert len(messages) > MUTATIONS // 20
    where = f"{path}, line " if kind in {"intlog", "ebbrt", "published"} else str(path)
    assert all(where in message and "\n" not in message for message in messages)


def refusal(path: Path) -> InputError | None:
    """The error that refused a log; every other exception is a bug and passes through."""
    try:
        summarise(open_log(path))
    except InputError as error:
        return error
    return None
