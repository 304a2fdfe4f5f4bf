from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from tests.support.errors import says
from tests.support.interrupt_logs import LINES, drawn_lines, write_lines
from tests.unit.interrupts.conftest import refusal

from bayop.errors import InputError
from bayop.interrupts import parquet
from bayop.interrupts.batch import BadRecordError, Batch
from bayop.interrupts.convert import convert
from bayop.interrupts.layout import INTERRUPT_COLUMNS
from bayop.interrupts.log import open_log


def test_another_parquet_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    pl.DataFrame({"entry": [1]}).write_parquet(path)
    assert "written by bayop interrupts convert" in refusal(path).message


def test_a_converted_log_that_somebody_edited_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    convert(open_log(write_lines(tmp_path / "log", LINES)), path)
    metadata = {"bayop.interrupts": open_log(path).layout.to_json()}
    frame = pl.read_parquet(path)
    bad = pl.int_range(pl.len()) == 4
    for column, value, message in (
        ("rx_bytes", None, "row 5, column rx_bytes: every record must have a value"),
        ("cycles", None, "row 5, column cycles: a record must have all sampled counters or none"),
        ("time_ticks", 0, "row 5, column time_ticks: a record must follow the one before it"),
    ):
        edited = frame.with_columns(pl.when(bad).then(pl.lit(value, pl.Int64)).otherwise(column).alias(column))
        edited.write_parquet(path, metadata=metadata)
        assert says(refusal(path), f"{path}, {message}")
    frame.drop("cycles").write_parquet(path, metadata=metadata)
    assert "cannot use 'cycles: none'" in refusal(path).message
    frame.write_parquet(path, metadata={"bayop.interrupts": "{}"})
    assert "describe its layout" in refusal(path).message


@pytest.fixture
def converted(tmp_path: Path) -> Path:
    """A file of 300 drawn records."""
    path = tmp_path / "log.parquet"
    assert convert(open_log(write_lines(tmp_path / "drawn", drawn_lines(300, seed=6))), path) == 300
    return path


def test_rows_are_read_from_anywhere_and_in_any_batches(converted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = parquet.read_layout(converted)
    (whole,) = parquet.read(converted, layout, 0, None)
    monkeypatch.setattr(parquet, "BATCH_ROWS", 64)
    batches = list(parquet.read(converted, layout, 100, 250))
    assert len(batches) > 1
    assert [batch.first_row for batch in batches][:2] == [0, batches[0].interrupts.height]
    assert pl.concat([batch.frame() for batch in batches]).equals(whole.frame()[100:250])


def test_pieces_cover_all_rows_once(converted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert parquet.pieces(converted) == [(0, 300)]
    monkeypatch.setattr(parquet, "PIECE_ROWS", 128)
    assert parquet.pieces(converted) == [(0, 128), (128, 256), (256, 300)]


def test_a_torn_sample_is_found_in_its_row(converted: Path) -> None:
    layout = parquet.read_layout(converted)
    frame = pl.read_parquet(converted)
    at = next(row for row in range(110, 300) if frame["cycles"][row] is None)
    torn = frame.with_columns(cycles=pl.when(pl.int_range(pl.len()) == at).then(pl.lit(5)).otherwise("cycles"))
    torn.write_parquet(converted, metadata={parquet.METADATA_KEY: layout.to_json()})
    with pytest.raises(BadRecordError, match="all sampled counters or none") as caught:
        list(parquet.read(converted, layout, 100, None))
    assert (caught.value.row, caught.value.column) == (at - 100, "cycles")


def test_columns_in_another_order_are_refused(converted: Path) -> None:
    layout = parquet.read_layout(converted)
    moved = pl.read_parquet(converted).cast({"rx_bytes": pl.Int32})
    moved.write_parquet(converted, metadata={parquet.METADATA_KEY: layout.to_json()})
    with pytest.raises(InputError, match="a Parquet log must have the columns entry, time_ticks") as caught:
        parquet.read_layout(converted)
    assert (caught.value.value, caught.value.place) == ("rx_bytes: Int32", str(converted))


def test_a_damaged_file_is_refused_by_name(converted: Path) -> None:
    layout = parquet.read_layout(converted)
    converted.write_bytes(converted.read_bytes()[:-100])
    for read in (
        parquet.read_layout,
        parquet.pieces,
        lambda path: list(parquet.read(path, layout, 0, None)),
    ):
        with pytest.raises(InputError, match="the log is no whole Parquet file") as caught:
            read(converted)
        assert caught.value.place == str(converted)


def test_a_sample_that_is_none_is_null(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    convert(open_log(write_lines(tmp_path / "log", LINES)), path)
    frame = pl.read_parquet(path)
    assert frame.columns[: len(INTERRUPT_COLUMNS)] == list(INTERRUPT_COLUMNS)
    assert frame["instructions"].to_list() == [None, 1_000_000, None, None, 1_700_000, None]


def test_what_fails_on_the_way_is_raised_as_it_was_and_leaves_nothing_behind(converted: Path, tmp_path: Path) -> None:
    layout = parquet.read_layout(converted)
    error = BadRecordError(7, "cycles", "a rule")

    def failing() -> Iterator[Batch]:
        yield from parquet.read(converted, layout, 0, None)
        raise error

    out = tmp_path / "out" / "log.parquet"
    out.parent.mkdir()
    with pytest.raises(BadRecordError) as caught:
        parquet.write(failing(), layout, out)
    assert caught.value is error
    assert not list(out.parent.iterdir())
    with pytest.raises(
        InputError,
        match=r"cannot write .*none",
    ):
        parquet.write(parquet.read(converted, layout, 0, None), layout, out / "none")
