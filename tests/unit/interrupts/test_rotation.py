from __future__ import annotations

from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.support.captures import FIELDS, PLACE, RECORD, chunk, header, playing

from bayop.errors import InputError
from bayop.interrupts.capture import Chunk, Source, read_source
from bayop.interrupts.record import record
from bayop.interrupts.rotation import Rotation


@pytest.fixture
def source() -> Source:
    return read_source(BytesIO(header()), "here")


def came(first: int, count: int, time_s: float, irq: int = 24) -> Chunk:
    """Records of interrupts, 1 us apart."""
    records = np.zeros(count, RECORD)
    records["time_ns"] = (first + np.arange(count)) * 1_000
    records["irq"] = irq
    return Chunk(records, lost=0, time_s=time_s, delay_us=None)


def test_each_stretch_has_logs_of_its_own(tmp_path: Path, source: Source) -> None:
    with Rotation(tmp_path, 10**6, stretch_s=1.0) as rotation:
        for second in range(5):
            assert rotation.add(source, came(second * 1000, 10, (second + 1) / 2)) == 10
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
            chunk = came(second * 10**6, 1000, second + 1.0)
            for name in ("rx_bytes", "tx_bytes", "polls", "idle_ns_C1"):  # so that a log takes a good part of the room
                chunk.records[name] = generator.integers(0, 2**40, 1000)
            assert rotation.add(source, chunk) == 1000
        kept = rotation.write_logs(source)
    assert sorted(tmp_path.iterdir()) == kept
    assert kept[-1].name == "eth0-rx-0-000006.parquet"
    assert sum(path.stat().st_size for path in kept) <= most_bytes
    assert rotation.removed == 6 - len(kept) > 2


def test_a_recording_that_is_not_rotated_has_one_log_a_queue(tmp_path: Path, source: Source) -> None:
    with Rotation(tmp_path, 10**6, stretch_s=float("inf")) as rotation:
        rotation.add(source, came(0, 3, 1e9))
        rotation.add(source, came(3, 3, 2e9, irq=25))
        assert [path.name for path in rotation.write_logs(source)] == ["eth0-rx-0.parquet", "eth0-tx-0.parquet"]


def test_energy_goes_on_from_log_to_log(tmp_path: Path) -> None:
    source = read_source(BytesIO(header(meter="powercap")), "here")
    with Rotation(tmp_path, 10**6, stretch_s=1.0) as rotation:
        for second in range(4):  # 10 records take 10 us each, in which 1 J is drawn
            energy = (second * 10_000 + 9_000, (second + 1) * 10**6)
            rotation.add(source, replace(came(second * 10, 10, (second + 1) / 2), energy=energy))
        paths = rotation.write_logs(source)
    logs = [pl.read_parquet(path)["energy_uj"].to_list() for path in paths]
    assert [len(log) for log in logs] == [20, 20]
    assert logs[0] == [0] * 10 + [10**5] * 10  # before the first reading nobody knows
    assert logs[1] == [0] + [10**5] * 19


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
        rotation.add(source, came(0, 3, 0.5))
        folder.rmdir()
        with pytest.raises(InputError, match="cannot write"):
            rotation.write_logs(source)
