from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.support.captures import FIELDS, PLACE, RECORD, chunk, header, playing

from bayop.errors import InputError
from bayop.interrupts.capture import Source, read_source
from bayop.interrupts.record import record
from bayop.interrupts.rotation import Rotation


@pytest.fixture
def source() -> Source:
    return read_source(BytesIO(header()), "here")


def came(first: int, count: int, irq: int = 24) -> np.ndarray:
    """Records of interrupts, 1 us apart."""
    records = np.zeros(count, RECORD)
    records["time_ns"] = (first + np.arange(count)) * 1_000
    records["irq"] = irq
    return records


def test_each_stretch_has_logs_of_its_own(tmp_path: Path, source: Source) -> None:
    with Rotation(tmp_path, 10**6, stretch_s=1.0) as rotation:
        for second in range(5):
            assert rotation.add(source, came(second * 1000, 10), (second + 1) / 2) == 10
        paths = rotation.write_logs(source)
    assert [path.name for path in paths] == [f"eth0-rx-0-{number:06}.parquet" for number in (1, 2, 3)]
    assert [pl.read_parquet(path).height for path in paths] == [20, 20, 10]
    assert pl.read_parquet(paths[1])["entry"].to_list() == list(range(20))
    assert rotation.removed == 0


def test_the_oldest_logs_make_room(tmp_path: Path, source: Source) -> None:
    most_bytes = 1000 * RECORD.itemsize
    generator = np.random.default_rng(1)
    with Rotation(tmp_path, most_bytes, stretch_s=1.0) as rotation:
        for second in range(6):
            records = came(second * 10**6, 1000)
            for name in ("rx_bytes", "tx_bytes", "polls", "idle_ns_C1"):  # so that a log takes a good part of the room
                records[name] = generator.integers(0, 2**40, 1000)
            assert rotation.add(source, records, second + 1.0) == 1000
        kept = rotation.write_logs(source)
    assert sorted(tmp_path.iterdir()) == kept
    assert kept[-1].name == "eth0-rx-0-000006.parquet"
    assert sum(path.stat().st_size for path in kept) <= most_bytes
    assert rotation.removed == 6 - len(kept) > 2


def test_a_recording_that_is_not_rotated_has_one_log_a_queue(tmp_path: Path, source: Source) -> None:
    with Rotation(tmp_path, 10**6, stretch_s=float("inf")) as rotation:
        rotation.add(source, came(0, 3), 1e9)
        rotation.add(source, came(3, 3, irq=25), 2e9)
        assert [path.name for path in rotation.write_logs(source)] == ["eth0-rx-0.parquet", "eth0-tx-0.parquet"]


def test_whoever_stops_keeps_the_logs_that_are_whole(tmp_path: Path) -> None:
    row = (1_000, *(24 if name == "irq" else 1 for name in FIELDS[1:]))
    printed = header() + chunk(row, time_s=1.0) + chunk(row, time_s=2.5) + chunk(row, time_s=2.6)
    with pytest.raises(InputError, match="ended before its last line"):
        record(playing(tmp_path, printed), tmp_path, place=PLACE, most_bytes=10**6, stretch_s=1.0)
    logs = sorted(tmp_path.glob("*.parquet"))
    assert [path.name for path in logs] == ["eth0-rx-0-000001.parquet", "eth0-rx-0-000002.parquet"]
    assert [pl.read_parquet(path).height for path in logs] == [1, 1]


def test_logs_that_cannot_be_written_are_an_error(tmp_path: Path, source: Source) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    with Rotation(folder, 10**6, stretch_s=1.0) as rotation:
        rotation.add(source, came(0, 3), 0.5)
        folder.rmdir()
        with pytest.raises(InputError, match="cannot write"):
            rotation.write_logs(source)
