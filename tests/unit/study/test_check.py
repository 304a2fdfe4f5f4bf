from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.errors import says
from tests.support.tables import study_frame

from bayop.errors import InputError
from bayop.study.check import (
    TIME,
    at_lines,
    at_rows,
    check_identity,
    check_study,
    check_values,
    columns_of,
    conform,
    first_row,
    from_text,
)
from bayop.study.schema import REQUIRED, column_of

ROWS = at_rows("a.parquet")


def refusal(frame: pl.DataFrame) -> InputError:
    with pytest.raises(InputError) as caught:
        check_study(frame, ROWS)
    return caught.value


@pytest.mark.parametrize(
    ("change", "message", "hint"),
    [
        (
            {"p99_ms": pl.lit(1.0)},
            "a.parquet: a study's columns must be those of its schema",
            "name it p99_us",
        ),
        (
            {"power_w": pl.lit(float("nan"))},
            "a.parquet, row 1, column power_w: power_w must be a finite number",
            None,
        ),
        (
            {"p99_us": pl.lit(1e10)},
            "a.parquet, row 1, column p99_us: p99_us must be in us and lie between 0.01 and 3.6e+09",
            "unit",
        ),
        (
            {"p99_us": pl.col("p99_us") / 1000},
            "a.parquet, row 1, column p99_us: p99_us must be at least as long as the",
            "unit",
        ),
        ({"os": pl.lit("a\nb")}, "a.parquet, row 1, column os: os must be one line of text", None),
        ({"os": pl.lit("")}, "a.parquet, row 1, column os: os must be one line of text", None),
        ({"os": pl.lit(1)}, "a.parquet, column os: os must hold text in every row", None),
        ({"repeat": pl.lit("1")}, "a.parquet, column repeat: repeat must hold a whole number in every row", None),
        ({"repeat": pl.lit(-1)}, "a.parquet, row 1, column repeat: repeat must lie between 0 and", None),
        (
            {"started_at": pl.lit(datetime(2026, 1, 1))},
            "a.parquet, column started_at: started_at must hold a time",
            None,
        ),
        (
            {"machine": pl.when(pl.col("trial") != 3).then("machine")},
            "a.parquet, row 3, column machine: machine is empty",
            None,
        ),
        (
            {"trial": pl.lit(7)},
            "a.parquet, row 2, column trial: cannot use 'trial 7 of sweep'",
            None,
        ),
    ],
)
def test_a_table_that_is_no_study_is_refused_at_its_cell(
    change: dict[str, pl.Expr], message: str, hint: str | None
) -> None:
    error = refusal(study_frame().with_columns(**change))
    assert says(error, message)
    assert (hint is None) == (error.hint is None)
    assert hint is None or hint in str(error.hint)


@pytest.mark.parametrize(
    ("column", "value", "hint"),
    [("vantage", "clients", "did you mean client?"), ("target", "twins", "did you mean twin?"), ("target", "pc", None)],
)
def test_a_word_is_one_of_its_column_s(column: str, value: str, hint: str | None) -> None:
    error = refusal(study_frame().with_columns(pl.lit(value).alias(column)))
    assert f"{column} must be " in str(error)
    assert (error.value, error.place, error.hint) == (value, f"a.parquet, row 1, column {column}", hint)
    assert check_study(study_frame().with_columns(pl.lit("server+wait").alias("vantage")), ROWS).height


def test_a_trial_is_found_twice_in_any_order() -> None:
    shuffled = study_frame().sample(fraction=1.0, shuffle=True, seed=1)
    assert check_study(shuffled, ROWS).equals(shuffled)
    error = refusal(pl.concat([shuffled, shuffled.tail(1)]))
    assert error.rule == "a study must have each trial once"
    assert error.place == f"a.parquet, row {shuffled.height + 1}, column trial"


def test_a_study_needs_its_columns_and_a_row() -> None:
    error = refusal(study_frame().drop("trial", "target"))
    assert error.wrong == "there is no column trial, target"
    assert error.hint == "bayop study columns says what they hold"
    assert refusal(study_frame().clear()).wrong == "the study is empty"


@pytest.mark.parametrize(
    "text", ["yesterday", "2026-11-20", "2026-11-20T09:30:00", "2026-11-20T09:30:00+01:00", "1763631000"]
)
def test_a_time_is_in_utc(text: str) -> None:
    with pytest.raises(
        InputError,
        match="started_at must be a time such as 2026-11-20T09:30:00Z",
    ) as caught:
        from_text(pl.DataFrame({"started_at": [text]}), [column_of("started_at")], at_lines("a.csv", [2]))
    assert (caught.value.value, caught.value.place) == (text, "a.csv, line 2, column started_at")


def test_places_count_rows_from_one_and_lines_as_the_file_does() -> None:
    assert [ROWS(16, "p99_us"), ROWS(0, None), ROWS(None, None)] == [
        "a.parquet, row 17, column p99_us", "a.parquet, row 1", "a.parquet",
    ]  # fmt: skip
    where = at_lines("a.csv", [2, 5])
    assert [where(1, "os"), where(0, None), where(None, "os")] == [
        "a.csv, line 5, column os", "a.csv, line 2", "a.csv, line 1, column os",
    ]  # fmt: skip


def test_cells_of_text_become_what_their_columns_hold() -> None:
    names = ("trial", "power_w", "os", "started_at")
    texts = pl.DataFrame(
        [[" 7 ", "1e2", " linux", "2026-11-20T09:30:00.5Z"], ["", "   ", "", ""]], schema=names, orient="row"
    )
    read = from_text(texts, [column_of(name) for name in names], ROWS)
    assert read.rows() == [
        (7, 100.0, "linux", datetime(2026, 11, 20, 9, 30, 0, 500_000, tzinfo=UTC)),
        (None, None, None, None),
    ]
    assert read.schema["started_at"] == TIME


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [("trial", "7.0", "trial must be a whole number"), ("power_w", "12 W", "power_w must be a number")],
)
def test_a_cell_of_text_that_is_something_else_is_named(name: str, text: str, rule: str) -> None:
    texts = pl.DataFrame({name: ["1", "", text, "x"]})
    with pytest.raises(InputError) as caught:
        from_text(texts, [column_of(name)], at_lines("a.csv", [2, 3, 5, 6]))
    assert (caught.value.rule, caught.value.value) == (rule, text)
    assert caught.value.place == f"a.csv, line 5, column {name}"


@given(st.lists(st.none() | st.integers(-(2**31), 2**31 - 1), min_size=1))
def test_shorter_numbers_are_widened_and_stay_the_same(values: list[int | None]) -> None:
    narrow = pl.DataFrame({"trial": pl.Series(values, dtype=pl.Int32), "power_w": pl.Series(values, dtype=pl.Int32)})
    wide = conform(narrow, [column_of("trial"), column_of("power_w")], ROWS)
    assert wide.schema == {"trial": pl.Int64, "power_w": pl.Float64}
    assert wide["trial"].to_list() == wide["power_w"].to_list() == values


def test_a_time_of_another_zone_is_the_same_instant() -> None:
    noon = datetime(2026, 11, 20, 12, tzinfo=timezone(timedelta(hours=2)))
    stored = pl.DataFrame({"started_at": pl.Series([noon]).dt.convert_time_zone("Asia/Tokyo")})
    stored = stored.cast(pl.Datetime("ms", "Asia/Tokyo"))
    conformed = conform(stored, [column_of("started_at")], ROWS)
    assert conformed.schema["started_at"] == TIME
    assert conformed["started_at"].to_list() == [noon]


def test_a_column_of_nulls_has_any_kind() -> None:
    empty = pl.DataFrame({name: [None] for name in ("trial", "power_w", "os", "started_at")})
    conformed = conform(empty, [column_of(name) for name in empty.columns], ROWS)
    assert conformed.dtypes == [pl.Int64, pl.Float64, pl.String, TIME]


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        (None, None),
        (0.01, None),
        (20_000.0, None),
        (0.00999, "power_w must be in W and lie between 0.01 and 20000"),
        (20_000.1, "power_w must be in W and lie between 0.01 and 20000"),
        (float("inf"), "power_w must be a finite number"),
        (float("nan"), "power_w must be a finite number"),
    ],
)
def test_a_number_is_plausible_in_its_unit(value: float | None, rule: str | None) -> None:
    frame = pl.DataFrame({"power_w": [50.0, value]}, schema={"power_w": pl.Float64})
    if rule is None:
        check_values(frame, [column_of("power_w")], ROWS)
        return
    with pytest.raises(InputError) as caught:
        check_values(frame, [column_of("power_w")], ROWS)
    assert (caught.value.rule, caught.value.place) == (rule, "a.parquet, row 2, column power_w")


@pytest.mark.parametrize(("p99_us", "sound"), [(95.0, True), (89.9, False), (0.1, False), (None, True)])
def test_quantiles_are_in_their_order_but_for_a_tenth(p99_us: float | None, sound: bool) -> None:  # noqa: FBT001
    frame = pl.DataFrame(
        {"p99_us": [p99_us], "p50_us": [10.0], "p90_us": [100.0]}, schema_overrides={"p99_us": pl.Float64}
    )
    columns = [column_of(name) for name in frame.columns]
    if sound:
        check_values(frame, columns, ROWS)
        return
    with pytest.raises(InputError, match="p99_us must be at least as long as the quantiles below it") as caught:
        check_values(frame, columns, ROWS)
    assert caught.value.hint == "p90_us is 100: is one of them in another unit, or another column's?"


def test_the_first_row_that_breaks_a_rule_is_named() -> None:
    frame = pl.DataFrame({"power_w": [50.0, 50.0, -1.0], "os": ["a", "b\x7f", "c"]})
    with pytest.raises(InputError, match="os must be one line of text") as caught:
        check_values(frame, [column_of("power_w"), column_of("os")], ROWS)
    assert caught.value.place == "a.parquet, row 2, column os"


@pytest.mark.parametrize(
    ("trials", "row"),
    [
        ([("a", 1), ("a", 2), ("b", 1)], None),
        ([("a", 2), ("a", 1), ("b", 2)], None),
        ([("a", 1), ("b", 1), ("a", 2)], None),
        ([("a", 1), ("b", 1), ("a", 1)], 3),
        ([("a", 1), ("a", 1)], 2),
    ],
)
def test_a_trial_is_known_by_its_study_and_its_number(trials: list[tuple[str, int]], row: int | None) -> None:
    frame = pl.DataFrame(trials, schema=["study", "trial"], orient="row")
    if row is None:
        check_identity(frame, ROWS)
        return
    with pytest.raises(InputError, match="a study must have each trial once") as caught:
        check_identity(frame, ROWS)
    assert caught.value.place == f"a.parquet, row {row}, column trial"


def test_a_part_of_the_columns_is_checked_as_far_as_it_goes() -> None:
    part = study_frame().select("power_w", "p99_us")
    assert check_study(part, ROWS, whole=False).equals(part)
    assert refusal(part).wrong == "there is no column study, trial, target, machine"


def test_columns_are_known_by_their_names_and_none_is_missing() -> None:
    assert [c.name for c in columns_of([*REQUIRED, "p95_us"], ROWS)] == [*REQUIRED, "p95_us"]
    with pytest.raises(InputError) as caught:
        columns_of([*REQUIRED, "p95_ms"], at_lines("a.csv", []))
    assert (caught.value.value, caught.value.place) == ("p95_ms", "a.csv, line 1")


def test_the_first_row_of_some_and_of_none() -> None:
    assert first_row(pl.Series([False, None, True, True])) == 2
    assert first_row(pl.Series([False, None])) is None
