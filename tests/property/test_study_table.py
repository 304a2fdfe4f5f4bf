"""Ten thousand damaged studies: each is refused with one clear error, or what was read of it is sound."""

from __future__ import annotations

import gzip
import math
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.studies import study_rows
from tests.support.studies import write_study as write_published
from tests.support.tables import study_frame

from bayop.errors import InputError
from bayop.study import open_study, write_study
from bayop.study.parquet import write_parquet
from bayop.study.schema import COLUMNS, column_of

# Every study is milliseconds of work; on a busy machine they are many times that by the clock.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

EACH = 350
"""Studies that one test damages; 25 such tests, and those further down, make ten thousand."""

BYTES = (b",", b"\n", b'"', b"nan", b"NaN", b"inf", b"-", b"e9", b"\x00", b"\r", b"0", b"99", b"static", b"\xff", b" ")


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Some bytes flipped, cut out, put in or cut off."""
    changed = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(changed) + 1)
        match rng.randrange(5):
            case 0:
                changed[at : at + 1] = bytes(byte ^ 1 << rng.randrange(8) for byte in changed[at : at + 1])
            case 1:
                del changed[at : at + rng.randint(1, 40)]
            case 2:
                changed[at:at] = rng.choice(BYTES)
            case 3:
                changed[at : at + rng.randint(0, 6)] = rng.choice(BYTES)
            case 4:
                del changed[at if rng.randrange(4) == 0 else len(changed) :]
    return bytes(changed)


def read_or_refuse(path: Path, *, lines: bool) -> pl.DataFrame | None:
    """The study, when it is sound in every cell; None, when it was refused at a place in its file."""
    try:
        frame = open_study(path)
    except InputError as error:
        refusal = error
    else:
        check_sound(frame)
        return frame
    assert str(refusal.place).startswith(f"{path}, line " if lines else str(path))
    assert "\n" not in refusal.message
    return None


def check_sound(frame: pl.DataFrame) -> None:
    assert frame.height > 0
    for name in frame.columns:
        column = column_of(name)
        for value in frame[name].drop_nulls():
            if isinstance(value, float):
                assert math.isfinite(value)
                assert column.low <= value <= column.high
            if isinstance(value, str):
                assert value.isprintable()
        assert not column.required or frame[name].null_count() == 0
    assert frame.select(pl.struct("study", "trial").is_unique().all()).item()


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    return study_frame(delays=(2, 50), freqs=(1300, 2900))


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
@pytest.mark.parametrize("part", range(8))
def test_a_damaged_study_is_read_or_refused_at_its_place(
    tmp_path: Path, frame: pl.DataFrame, suffix: str, part: int
) -> None:
    path = tmp_path / f"study{suffix}"
    write_study(frame, path)
    content = path.read_bytes()
    refusals = 0
    for seed in range(part * EACH, (part + 1) * EACH):
        path.write_bytes(damaged(content, random.Random(seed)))
        refusals += read_or_refuse(path, lines=suffix != ".parquet") is None
    assert refusals > EACH / 3


def test_a_damaged_published_table_is_read_or_refused_at_its_line(tmp_path: Path) -> None:
    path = write_published(tmp_path / "study.csv", study_rows(delays=(2, 50), freqs=(1300, 2900)))
    content = path.read_bytes()
    refusals = 0
    for seed in range(EACH):
        path.write_bytes(damaged(content, random.Random(seed)))
        refusals += read_or_refuse(path, lines=True) is None
    assert refusals > EACH / 3


def test_damaged_parquet_is_never_taken_for_sound(tmp_path: Path, frame: pl.DataFrame) -> None:
    path = tmp_path / "study.parquet"
    write_study(frame, path)
    content = path.read_bytes()
    for at in range(0, len(content), 7):
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        assert read_or_refuse(path, lines=False) is None


def one_cell(frame: pl.DataFrame, name: str, value: object, row: int) -> pl.DataFrame:
    return frame.with_columns(pl.when(pl.int_range(pl.len()) == row).then(pl.lit(value)).otherwise(name).alias(name))


MEANINGS: list[Callable[[pl.DataFrame, random.Random], pl.DataFrame]] = [
    lambda f, r: f.drop(r.choice(["study", "trial", "target", "machine"])),
    lambda f, r: one_cell(f, r.choice(["power_w", "p99_us", "utilization"]), math.nan, r.randrange(f.height)),
    lambda f, r: one_cell(f, r.choice(["power_w", "p99_us", "qps_offered"]), math.inf, r.randrange(f.height)),
    lambda f, r: one_cell(f, r.choice(["power_w", "p50_us", "utilization"]), -1.0, r.randrange(f.height)),
    lambda f, r: one_cell(f, "p99_us", 0.3, r.randrange(f.height)),
    lambda f, r: one_cell(f, "asked.cpu.freq_mhz", 2.9, r.randrange(f.height)),
    lambda f, r: f.rename({"p99_us": r.choice(["p99_ms", "p99", "P99_us", "latency_us"])}),
    lambda f, r: f.rename({"power_w": r.choice(["power_mw", "power", "watts", "power_kw"])}),
    lambda f, r: f.rename({"asked.nic.rx_usecs": r.choice(["nic.rx_usecs", "asked.rx_usecs", "asked.nic.rx_us"])}),
    lambda f, r: pl.concat([f, f.sample(1, seed=r.randrange(99))]),
    lambda f, r: one_cell(f, r.choice(["study", "machine", "target"]), None, r.randrange(f.height)),
    lambda f, r: f.with_columns(pl.lit(r.choice(["fast", "50 us", "1,5"])).alias(r.choice(["p99_us", "power_w"]))),
    lambda f, _: f.clear(),
    lambda f, r: one_cell(f, "trial", -r.randint(1, 9), r.randrange(f.height)),
]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_study_that_means_nonsense_is_refused(tmp_path: Path, frame: pl.DataFrame, suffix: str) -> None:
    path = tmp_path / f"study{suffix}"
    for seed in range(500):
        rng = random.Random(seed)
        wrong = rng.choice(MEANINGS)(frame, rng)
        with path.open("w+b") as file:
            (write_parquet(wrong, file) if suffix == ".parquet" else wrong.write_csv(file))
        assert read_or_refuse(path, lines=suffix == ".csv") is None, seed


def test_a_compressed_study_is_refused_wherever_it_ends(tmp_path: Path, frame: pl.DataFrame) -> None:
    write_study(frame, tmp_path / "study.csv")
    content = gzip.compress((tmp_path / "study.csv").read_bytes())
    path = tmp_path / "cut.csv.gz"
    for size in range(len(content)):
        path.write_bytes(content[:size])
        assert read_or_refuse(path, lines=True) is None


numbers = partial(st.floats, allow_nan=False, allow_infinity=False)


@settings(max_examples=50)
@given(st.data())
def test_whatever_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    rows = data.draw(st.integers(1, 5))
    columns: dict[str, list[object]] = {"trial": [*range(rows)]}
    words = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=9)
    for column in data.draw(st.lists(st.sampled_from(COLUMNS), max_size=8, unique=True)):
        some: st.SearchStrategy[object] | None = None
        if column.kind == "number":
            some = numbers(column.low, column.high)
        elif column.kind == "text":
            some = st.sampled_from(column.words) if column.words else words
        if some is not None and not column.required:
            columns[column.name] = data.draw(st.lists(st.none() | some, min_size=rows, max_size=rows))
    fixed = {name: [data.draw(words)] * rows for name in ("study", "machine")}
    fixed["target"] = [data.draw(st.sampled_from(column_of("target").words))] * rows
    kinds = {name: pl.String if column_of(name).kind == "text" else None for name in columns}
    schema = {name: kind or (pl.Int64 if name == "trial" else pl.Float64) for name, kind in kinds.items()}
    frame = pl.DataFrame(columns, schema=schema).with_columns(**{n: pl.Series(v) for n, v in fixed.items()})
    folder = tmp_path_factory.mktemp("studies")
    for suffix in (".csv", ".csv.gz", ".parquet"):
        write_study(frame, folder / f"a{suffix}")
        assert open_study(folder / f"a{suffix}").select(frame.columns).equals(frame)
