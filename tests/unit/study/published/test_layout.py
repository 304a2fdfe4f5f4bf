from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from tests.support.studies import COLUMNS, study_rows, write_study

from bayop.errors import InputError
from bayop.study import open_study
from bayop.study.published.layout import Layout, app_of, by_name, number, provenance, text
from bayop.study.schema import column_of

SMALL = Layout(
    name="a small layout",
    marks=("busy",),
    columns=by_name("power_w", text("busy"), number("load_kqps", "kqps", 0.0, 10.0), filled=("busy",)),
    required=("busy", "load_kqps"),
    convert=lambda _header, _path: {},
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.csv"


def test_a_column_in_another_unit_is_refused_with_its_name(path: Path) -> None:
    columns = [*(c for c in COLUMNS if c != "freq_ghz"), "freq_mhz"]
    write_study(path, [{**study_rows()[1], "freq_mhz": "2900"}], columns)
    with pytest.raises(InputError, match="there is no column freq_ghz") as caught:
        open_study(path)
    assert caught.value.hint == "the file has freq_mhz: convert it to ghz and name it freq_ghz"


def test_a_column_that_nobody_knows_is_refused(path: Path) -> None:
    write_study(path, [{**study_rows()[1], "qps_mesured": "1"}], [*COLUMNS, "qps_mesured"])
    with pytest.raises(InputError, match="has no column 'qps_mesured'") as caught:
        open_study(path)
    assert caught.value.hint == "did you mean qps_measured?"


def test_columns_are_the_layouts_and_latency_quantiles() -> None:
    columns = {c.name: c for c in SMALL.columns_of(["busy", "load_kqps", "p95_us", "power_w"], "a.csv, line 1")}
    assert (columns["load_kqps"].kind, columns["load_kqps"].unit) == ("number", "kqps")
    assert (columns["load_kqps"].low, columns["load_kqps"].high) == (0.0, 10.0)
    assert columns["busy"].kind == "text"
    assert columns["p95_us"] == column_of("p95_us")
    assert {name for name, column in columns.items() if column.required} == {"busy"}


def test_a_column_of_the_schema_keeps_its_range_and_may_be_empty() -> None:
    (column,) = by_name("power_w", filled=()).values()
    assert column == column_of("power_w")
    (machine,) = by_name("machine", filled=()).values()
    assert column_of("machine").required
    assert not machine.required


@pytest.mark.parametrize(
    ("header", "missing", "hint"),
    [
        (["busy", "p99_us"], "there is no column load_kqps", "the file has busy, p99_us"),
        (
            ["busy", "load_qps", "p99_us"],
            "there is no column load_kqps",
            "the file has load_qps: convert it to kqps and name it load_kqps",
        ),
        (["busy", "load_kqps"], "there is no column p99_us", "the file has busy, load_kqps"),
        (
            ["busy", "load_kqps", "p99_ms"],
            "there is no column p99_us",
            "the file has p99_ms: convert it to us and name it p99_us",
        ),
        (["power_w"], "there is no column busy, load_kqps, p99_us", "the file has power_w"),
    ],
)
def test_what_is_missing_is_named_with_what_may_be_meant(header: list[str], missing: str, hint: str) -> None:
    with pytest.raises(
        InputError,
        match=r"a study must have the columns busy, load_kqps and latency quantiles such as p99_us \(a\.csv, line 1\)",
    ) as caught:
        SMALL.columns_of(header, "a.csv, line 1")
    assert (caught.value.wrong, caught.value.hint, caught.value.place) == (missing, hint, "a.csv, line 1")


@pytest.mark.parametrize(
    ("name", "hint"), [("load_kqp", "did you mean load_kqps?"), ("zzz", "it has power_w, busy, load_kqps")]
)
def test_an_unknown_column_is_named_with_what_there_is(name: str, hint: str) -> None:
    with pytest.raises(InputError, match=f"a small layout has no column '{name}'") as caught:
        SMALL.columns_of(["busy", "load_kqps", "p99_us", name], "a.csv, line 1")
    assert (caught.value.value, caught.value.hint) == (name, hint)


def test_imported_rows_say_where_they_come_from() -> None:
    frame = pl.DataFrame({"line": [2, 5]})
    rows = frame.select(e.alias(name) for name, e in provenance(Path("x/a.b.csv"), pl.col("line")).items())
    assert rows.rows() == [("a", 1, "published", "a.b.csv:2"), ("a", 2, "published", "a.b.csv:5")]


@pytest.mark.parametrize(
    ("name", "app"),
    [
        ("study_silo.csv", "silo"),
        ("systor_memcached.csv.gz", "memcached"),
        ("study.csv", None),
        ("study_.csv", None),
        ("sweep_silo.csv", None),
    ],
)
def test_a_published_name_says_the_service(name: str, app: str | None) -> None:
    assert pl.select(app_of(Path("x") / name)).item() == app
