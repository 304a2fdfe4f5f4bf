from __future__ import annotations

import gzip
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from bayop.errors import InputError
from bayop.study.table import open_study, trusted, write_study
from bayop.testing.tables import study_frame

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


def refused(frame: pl.DataFrame, path: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        write_study(frame, path)
    assert not path.exists()
    return caught.value


@pytest.mark.parametrize(
    ("change", "message", "hint"),
    [
        (
            {"p99_ms": pl.lit(1.0)},
            "{path}: a study's columns are those of its schema, but got 'p99_ms'",
            "name it p99_us",
        ),
        (
            {"power_w": pl.lit(float("nan"))},
            "{path}, row 1, column power_w: power_w is a finite number, but got 'nan'",
            None,
        ),
        (
            {"p99_us": pl.lit(1e10)},
            "{path}, row 1, column p99_us: p99_us is in us and lies between 0.01 and 3.6e+09",
            "unit",
        ),
        (
            {"p99_us": pl.col("p99_us") / 1000},
            "{path}, row 1, column p99_us: p99_us is at least as long as the",
            "unit",
        ),
        ({"os": pl.lit("a\nb")}, "{path}, row 1, column os: os is one line of text", None),
        ({"os": pl.lit("")}, "{path}, row 1, column os: os is one line of text", None),
        ({"os": pl.lit(1)}, "{path}, column os: os holds text in every row, but got 'Int32'", None),
        ({"repeat": pl.lit("1")}, "{path}, column repeat: repeat holds a whole number in every row", None),
        ({"repeat": pl.lit(-1)}, "{path}, row 1, column repeat: repeat lies between 0 and", None),
        ({"started_at": pl.lit(datetime(2026, 1, 1))}, "{path}, column started_at: started_at holds a time", None),
        (
            {"machine": pl.when(pl.col("trial") != 3).then("machine")},
            "{path}, row 3, column machine: machine is not empty",
            None,
        ),
        (
            {"trial": pl.lit(7)},
            "{path}, row 2, column trial: a study has each trial once, but got 'trial 7 of sweep'",
            None,
        ),
    ],
)
def test_a_table_that_is_no_study_is_not_written(
    tmp_path: Path, change: dict[str, pl.Expr], message: str, hint: str | None
) -> None:
    path = tmp_path / "a.parquet"
    error = refused(study_frame().with_columns(**change), path)
    assert error.message.startswith(message.format(path=path))
    assert (hint is None) == (error.hint is None)
    assert hint is None or hint in str(error.hint)


def test_a_trial_is_found_twice_in_any_order(tmp_path: Path) -> None:
    shuffled = study_frame().sample(fraction=1.0, shuffle=True, seed=1)
    write_study(shuffled, tmp_path / "a.parquet")
    error = refused(pl.concat([shuffled, shuffled.tail(1)]), tmp_path / "b.parquet")
    assert error.rule == "a study has each trial once"
    assert f"row {shuffled.height + 1}" in str(error.place)


def test_a_study_needs_its_columns_and_a_row(tmp_path: Path) -> None:
    assert refused(study_frame().drop("trial", "target"), tmp_path / "a.csv").value == "no trial, target"
    assert refused(study_frame().clear(), tmp_path / "a.csv").rule == "a study has at least one trial"


def test_what_can_not_be_written_leaves_nothing_behind(tmp_path: Path, frame: pl.DataFrame) -> None:
    assert "written as .parquet, .csv or .csv.gz" in refused(frame, tmp_path / "a.xlsx").rule
    assert refused(frame, tmp_path / "no" / "a.csv").rule == "the study can be written"
    assert list(tmp_path.iterdir()) == []


def csv_of(frame: pl.DataFrame, tmp_path: Path) -> str:
    write_study(frame, tmp_path / "ok.csv")
    return (tmp_path / "ok.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("sweep,3,", "sweep,3.5,", "line 4, column trial: trial is a whole number, but got '3.5'"),
        ("sweep,3,", "sweep,nan,", "line 4, column trial: trial is a whole number, but got 'nan'"),
        ("sweep,3,", "sweep,2,", "line 4, column trial: a study has each trial once"),
        ("sweep,3,", ",3,", "line 4, column study: study is not empty"),
        ("sweep,3,", '"sweep"x,3,', "line 4: a study is a CSV file"),
        ("sweep,3,", "sweep,3,,", "line 4: every line of a study has as many cells as the header, but got"),
        ("study,trial", "study,study", "line 1: a study has each column once, but got 'study'"),
        ("p99_us", "p99_ms", "line 1: a study's columns are those of its schema, but got 'p99_ms'"),
        ("study,trial,", "campaign,trial,", "line 1: a study's columns are those of its schema, but got 'campaign'"),
    ],
)
def test_a_csv_file_is_refused_at_its_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(csv_of(study_frame(), tmp_path).replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        open_study(path)
    assert caught.value.message.startswith(f"{path}, {message}")


def test_nan_in_a_csv_file_is_refused_at_its_cell(tmp_path: Path) -> None:
    lines = csv_of(study_frame(), tmp_path).splitlines()
    column = lines[0].split(",").index("power_w")
    cells = lines[5].split(",")
    lines[5] = ",".join([*cells[:column], "NaN", *cells[column + 1 :]])
    (tmp_path / "a.csv").write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(InputError, match="line 6, column power_w: power_w is a finite number, but got 'nan'"):
        open_study(tmp_path / "a.csv")


def test_lines_are_counted_across_cells_of_several_lines_and_blank_ones(tmp_path: Path) -> None:
    text = "study,trial,target,machine,cut_short\n\ns,1,twin,m,\n\ns,x,twin,m,\n"
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="line 5, column trial"):
        open_study(tmp_path / "a.csv")


def test_a_time_is_in_utc(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("study,trial,target,machine,started_at\ns,1,twin,m,yesterday\n", encoding="utf-8")
    with pytest.raises(InputError, match="started_at is a time such as 2026-11-20T09:30:00Z, but got 'yesterday'"):
        open_study(tmp_path / "a.csv")


def test_a_compressed_file_that_ends_early_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(csv_of(study_frame(), tmp_path).encode())[:-20])
    with pytest.raises(InputError, match="a compressed study is whole") as caught:
        open_study(path)
    assert str(caught.value.place).startswith(f"{path}, line ")


@pytest.mark.parametrize(
    "content", [b"PAR1", b"PAR1 and no more PAR1", b"", b"\n\n", b"\xff\xfe", b"study,trial,target,machine\n"]
)
def test_a_file_that_is_no_study_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        open_study(path)
    assert str(caught.value.place).startswith(str(path))


def test_parquet_of_somebody_else_is_refused(tmp_path: Path) -> None:
    study_frame().write_parquet(tmp_path / "a.parquet", metadata={"bayop.study": "1"})
    with pytest.raises(InputError, match=r"a\.parquet: a Parquet study is whole, and written by BayOp"):
        open_study(tmp_path / "a.parquet")


def test_parquet_of_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("bayop.study.table.parquet.VERSION", "2")
        write_study(study_frame(), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"a\.parquet: a study follows version 1 of the schema, but got '2'"):
        open_study(tmp_path / "a.parquet")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "no.csv", tmp_path):
        with pytest.raises(InputError, match="the study can be read") as caught:
            open_study(path)
        assert caught.value.value == str(path)
