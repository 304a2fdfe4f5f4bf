from __future__ import annotations

import zlib
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.tables import study_frame

from bayop.errors import InputError
from bayop.study import open_study, write_study
from bayop.study.parquet import SEAL_KEY, VERSION_KEY, read_parquet, write_parquet
from bayop.study.schema import VERSION


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sealed") / "a.parquet"
    with path.open("w+b") as file:
        write_parquet(study_frame(), file)
    return path


def test_parquet_of_somebody_else_is_refused(tmp_path: Path) -> None:
    study_frame().write_parquet(tmp_path / "a.parquet", metadata={"bayop.study": "1"})
    with pytest.raises(InputError, match="the file is damaged, or of another program"):
        open_study(tmp_path / "a.parquet")


def test_parquet_of_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("bayop.study.parquet.VERSION", "2")
        write_study(study_frame(), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="a study must follow version 1 of the schema"):
        open_study(tmp_path / "a.parquet")


def test_only_the_wanted_columns_are_read_and_all_are_named(sealed: Path) -> None:
    names, frame = read_parquet(sealed, ["power_w", "trial", "p42_us"])
    assert names == study_frame().columns
    assert frame.equals(study_frame().select("trial", "power_w"))
    assert read_parquet(sealed, None)[1].equals(study_frame())


def test_any_program_can_read_it_and_sees_the_version_and_the_seal(sealed: Path) -> None:
    assert pl.read_parquet(sealed).equals(study_frame())
    metadata = pl.read_parquet_metadata(sealed)
    assert metadata[VERSION_KEY] == VERSION
    assert len(bytes.fromhex(metadata[SEAL_KEY])) == 4


def test_the_seal_is_the_checksum_of_the_file_with_zeros_in_its_place(sealed: Path) -> None:
    seal = pl.read_parquet_metadata(sealed)[SEAL_KEY].encode()
    content = sealed.read_bytes()
    assert content.count(seal) == 1
    assert int(seal, 16) == zlib.crc32(content.replace(seal, b"00000000"))


@given(st.data())
def test_one_flipped_bit_anywhere_breaks_the_seal(sealed: Path, data: st.DataObject) -> None:
    content = bytearray(sealed.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    damaged = sealed.with_name("damaged.parquet")
    damaged.write_bytes(content)
    with pytest.raises(InputError, match="the file is damaged, or of another program") as caught:
        read_parquet(damaged, None)
    assert caught.value.place == str(damaged)
    assert "bring that as CSV" in str(caught.value.hint)


def test_the_seal_is_that_of_the_last_mark(tmp_path: Path) -> None:
    """A cell may hold the very bytes that mark the seal."""
    frame = study_frame().with_columns(os=pl.lit(f"{SEAL_KEY}\x18\x0800000000"))
    path = tmp_path / "a.parquet"
    with path.open("w+b") as file:
        write_parquet(frame, file)
    assert read_parquet(path, None)[1].equals(frame)
