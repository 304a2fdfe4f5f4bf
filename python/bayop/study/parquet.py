"""Parquet files of studies, each with a seal: its own checksum.

Parquet's reader trusts what a file says about itself: a flipped bit may change a number unseen, or end the process.
So every file carries the CRC-32 of all its other bytes, and nothing is read of a file that does not match it.
"""

from __future__ import annotations

import mmap
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final

import polars as pl

from bayop.errors import InputError, unreadable
from bayop.study.schema import VERSION

MAGIC: Final = b"PAR1"

VERSION_KEY: Final = "bayop.study"
"""The key of a file's metadata that says which version of the schema it follows."""

SEAL_KEY: Final = "bayop.study.crc32"
"""The key whose value is the seal, in eight hexadecimal digits; they count as zeros themselves."""

_DIGITS: Final = 8
_ZEROS: Final = b"0" * _DIGITS
# In a file's metadata a text of eight bytes follows its key after the type of a field and its length (compact Thrift).
_MARK: Final = SEAL_KEY.encode() + b"\x18\x08"
_CHUNK: Final = 1 << 24


def write_parquet(frame: pl.DataFrame, file: IO[bytes]) -> None:
    """Writes a study with its seal.

    Args:
        frame: The study.
        file: Empty, and open for reading and writing.
    """
    frame.write_parquet(file, metadata={VERSION_KEY: VERSION, SEAL_KEY: _ZEROS.decode()})
    file.flush()
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        at = _seal_at(content)
        seal = _checksum(content, at)
    file.seek(at)
    file.write(seal)


def read_parquet(path: Path, columns: Sequence[str] | None) -> tuple[list[str], pl.DataFrame]:
    """The names of all columns of a study, and those of the columns that are wanted.

    Raises:
        InputError: the file was damaged or not written by BayOp, or follows another version of the schema.
    """
    _check_seal(path)
    try:
        version = pl.read_parquet_metadata(path).get(VERSION_KEY)
        if version != VERSION:
            raise InputError(f"a study must follow version {VERSION} of the schema", value=version, place=str(path))
        table = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        names = table.collect_schema().names()
        return names, table.select(n for n in names if columns is None or n in columns).collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise unreadable(path, error) from error


def _check_seal(path: Path) -> None:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        at = _seal_at(content)
        is_sealed = at > 0 and content[at : at + _DIGITS] == _checksum(content, at)
    if not is_sealed:
        raise InputError(
            "a Parquet study must be whole, and written by BayOp",
            wrong="the file is damaged, or of another program",
            place=str(path),
            hint="it was damaged or cut short, or is of another program: bring that as CSV, and export it",
        )


def _seal_at(content: mmap.mmap) -> int:
    """Where the seal's digits stand; 0 where there are none."""
    mark = content.rfind(_MARK)
    return 0 if mark < 0 else mark + len(_MARK)


def _checksum(content: mmap.mmap, at: int) -> bytes:
    """CRC-32 of everything but the digits at a place, which count as zeros."""
    with memoryview(content) as view:
        crc = 0
        for begin, end in ((0, at), (at + _DIGITS, len(view))):
            for start in range(begin, end, _CHUNK):
                crc = zlib.crc32(view[start : min(start + _CHUNK, end)], crc)
            if begin == 0:
                crc = zlib.crc32(_ZEROS, crc)
    return f"{crc:0{_DIGITS}x}".encode()
