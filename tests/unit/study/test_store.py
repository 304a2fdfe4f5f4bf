from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from tests.support.errors import says
from tests.support.tables import study_frame

from bayop.errors import InputError
from bayop.study import open_study, trusted, write_study

SUFFIXES = (".parquet", ".csv", ".csv.gz")


@pytest.fixture
def frame() -> pl.DataFrame:
    """A sweep with every kind of column, and a null in each that may have one."""
    rows = study_frame().height
    return study_frame().with_columns(
        started_at=pl.lit(datetime(2026, 11, 20, 9, 30, 0, 123456, tzinfo=UTC)).cast(pl.Datetime("us", "UTC")),
        seed=pl.Series([None, *range(rows - 1)], dtype=pl.Int64),
        cut_short=pl.Series(['a "guard", and more', *[None] * (rows - 1)]),
        **{"asked.idle.governor": pl.Series(["menu", *[None] * (rows - 1)])},
    )


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_written_is_read_again(tmp_path: Path, frame: pl.DataFrame, suffix: str) -> None:
    path = tmp_path / f"sweep{suffix}"
    write_study(frame, path)
    again = open_study(path)
    assert again.select(frame.columns).equals(frame)
    assert again.schema["started_at"] == pl.Datetime("us", "UTC")
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_same_study_gives_the_same_bytes(tmp_path: Path, frame: pl.DataFrame, suffix: str) -> None:
    a, b = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    write_study(frame, a)
    write_study(frame.select(reversed(frame.columns)), b)
    assert a.read_bytes() == b.read_bytes()


def test_the_content_says_what_a_file_is_and_not_its_name(tmp_path: Path, frame: pl.DataFrame) -> None:
    write_study(frame, tmp_path / "a.parquet")
    (tmp_path / "a.parquet").rename(tmp_path / "a.csv")
    assert open_study(tmp_path / "a.csv").height == frame.height


def test_a_name_with_wildcards_is_one_file(tmp_path: Path, frame: pl.DataFrame) -> None:
    write_study(frame, tmp_path / "a.parquet")
    write_study(frame.head(1), tmp_path / "[ab]*.parquet")
    assert open_study(tmp_path / "[ab]*.parquet").height == 1


def test_only_the_columns_that_are_wanted_are_read(tmp_path: Path, frame: pl.DataFrame) -> None:
    for suffix in SUFFIXES:
        path = tmp_path / f"sweep{suffix}"
        write_study(frame, path)
        assert set(open_study(path, columns=["power_w", "p99_us", "goodput_mibit_s"]).columns) == {"power_w", "p99_us"}


def test_whole_numbers_are_read_where_numbers_stand(tmp_path: Path, frame: pl.DataFrame) -> None:
    path = tmp_path / "a.parquet"
    write_study(frame.with_columns(pl.col("qps_offered").cast(pl.Int32), p90_us=pl.lit(None)), path)
    assert open_study(path).schema["qps_offered"] == pl.Float64
    assert open_study(path)["p90_us"].null_count() == frame.height


def test_rows_that_are_suspect_or_cut_short_are_not_trusted(frame: pl.DataFrame) -> None:
    suspect = pl.Series([None, "itr_mislabelled", *[None] * (frame.height - 2)])
    assert trusted(frame.with_columns(suspect=suspect)).height == frame.height - 2
    assert trusted(study_frame()).height == study_frame().height


def refusal(frame: pl.DataFrame, path: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        write_study(frame, path)
    assert not path.exists()
    return caught.value


def test_a_table_that_is_no_study_is_not_written(tmp_path: Path, frame: pl.DataFrame) -> None:
    error = refusal(frame.with_columns(power_w=pl.lit(-1.0)), tmp_path / "a.csv")
    assert error.place == f"{tmp_path / 'a.csv'}, row 1, column power_w"


def test_what_can_not_be_written_leaves_nothing_behind(tmp_path: Path, frame: pl.DataFrame) -> None:
    assert "written as .parquet, .csv or .csv.gz" in refusal(frame, tmp_path / "a.xlsx").message
    assert refusal(frame, tmp_path / "no" / "a.csv").message == f"cannot write {tmp_path}/no/a.csv: no such file"
    assert list(tmp_path.iterdir()) == []


def csv_of(frame: pl.DataFrame, tmp_path: Path) -> str:
    write_study(frame, tmp_path / "ok.csv")
    return (tmp_path / "ok.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("sweep,3,", "sweep,3.5,", "line 4, column trial: cannot use '3.5': trial must be a whole number"),
        ("sweep,3,", "sweep,nan,", "line 4, column trial: cannot use 'nan': trial must be a whole number"),
        ("sweep,3,", "sweep,2,", "line 4, column trial: a study must have each trial once"),
        ("sweep,3,", ",3,", "line 4, column study: study is empty"),
        ("sweep,3,", '"sweep"x,3,', "line 4: the file is not CSV"),
        ("sweep,3,", "sweep,3,,", "line 4: every line of a study must have as many cells as the header"),
        ("study,trial", "study,study", "line 1: cannot use 'study': a study must have each column once"),
        ("p99_us", "p99_ms", "line 1: cannot use 'p99_ms': a study's columns must be those of its schema"),
        (
            "study,trial,",
            "campaign,trial,",
            "line 1: cannot use 'campaign': a study's columns must be those of its schema",
        ),
    ],
)
def test_a_csv_file_is_refused_at_its_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(csv_of(study_frame(), tmp_path).replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        open_study(path)
    assert says(caught.value, f"{path}, {message}")


@pytest.mark.parametrize("divider", [";", "\t"])
def test_cells_that_no_comma_divides_are_refused_with_what_does(tmp_path: Path, divider: str) -> None:
    header, _, rows = csv_of(study_frame(), tmp_path).replace(",", divider).partition("\n")
    (tmp_path / "a.csv").write_text(f"{header}\n{rows.replace('.', ',')}", encoding="utf-8")
    with pytest.raises(InputError, match="the cells of a study must be divided by commas") as caught:
        open_study(tmp_path / "a.csv")
    assert caught.value.place == f"{tmp_path / 'a.csv'}, line 1"
    assert caught.value.hint == "save it as CSV with commas, in which decimals have points"


def test_nan_in_a_csv_file_is_refused_at_its_cell(tmp_path: Path) -> None:
    lines = csv_of(study_frame(), tmp_path).splitlines()
    column = lines[0].split(",").index("power_w")
    cells = lines[5].split(",")
    lines[5] = ",".join([*cells[:column], "NaN", *cells[column + 1 :]])
    (tmp_path / "a.csv").write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(
        InputError, match=r"cannot use 'nan': power_w must be a finite number \(.*line 6, column power_w\)"
    ):
        open_study(tmp_path / "a.csv")


@pytest.mark.parametrize(
    "content", [b"PAR1", b"PAR1 and no more PAR1", b"", b"\n\n", b"\xff\xfe", b"study,trial,target,machine\n"]
)
def test_a_file_that_is_no_study_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        open_study(path)
    assert str(caught.value.place).startswith(str(path))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "no.csv", tmp_path):
        with pytest.raises(InputError, match=f"cannot read {path}: "):
            open_study(path)
