from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayop.interrupts.batch import BadRecordError
from bayop.interrupts.text import Field, excerpt, not_a_log, parse

FIELDS = (Field("count"), Field("time_us", whole=False), Field("seen", whole=False, optional=True))
wholes = st.integers(0, 2**63 - 1)
# The published files have three and five decimals.
reals = st.integers(0, 10**12).map(lambda n: n / 1000)


def refusal(text: str, *, first_row: int = 0) -> BadRecordError:
    with pytest.raises(BadRecordError) as caught:
        parse(text.encode(), FIELDS, ",", first_row)
    return caught.value


@given(st.lists(st.tuples(wholes, reals, st.none() | reals), min_size=1, max_size=20), st.sampled_from(["", "\n"]))
def test_what_is_written_is_read_again(rows: list[tuple[int, float, float | None]], end: str) -> None:
    text = "\n".join(",".join("" if cell is None else str(cell) for cell in row) for row in rows) + end
    table = parse(text.encode(), FIELDS, ",", 0)
    assert table.columns == ["count", "time_us", "seen"]
    assert table.rows() == rows


@pytest.mark.parametrize("text", ["1,2.5,\r\n3,4.5,5.5\r\n", "1,2.5,\n3,45e-1,5.5\n"])
def test_other_spellings_of_the_same_lines(text: str) -> None:
    assert parse(text.encode(), FIELDS, ",", 0).rows() == [(1, 2.5, None), (3, 4.5, 5.5)]


@pytest.mark.parametrize(
    ("cell", "column", "kind"),
    [
        ("", "count", "whole number"),
        ("-1", "count", "whole number"),
        ("1.0", "count", "whole number"),
        ("9223372036854775808", "count", "whole number"),
        ("one", "count", "whole number"),
        ("", "time_us", "number"),
        ("-0.5", "time_us", "number"),
        ("nan", "time_us", "number"),
        ("inf", "time_us", "number"),
        ("-2", "seen", "number"),
    ],
)
def test_a_cell_that_is_no_number_is_named(cell: str, column: str, kind: str) -> None:
    cells = {"count": "1", "time_us": "2.5", "seen": "3.5"} | {column: cell}
    error = refusal("1,2.5,3.5\n" + ",".join(cells.values()) + "\n", first_row=100)
    assert (error.row, error.column, error.value) == (101, column, cell)
    assert error.rule == f"{column} must be a {kind}, not negative"


@pytest.mark.parametrize(("line", "fields"), [("1,2.5", 2), ("1,2.5,3.5,4", 4), ("", 1)])
def test_a_line_with_other_fields_is_named(line: str, fields: int) -> None:
    error = refusal(f"1,2.5,3.5\n{line}\n1,2.5,3.5\n")
    assert (error.row, error.column) == (1, None)
    assert error.rule == "a record of this log must have 3 fields"
    assert error.value == f"{fields} in {line!r}"


def test_the_first_fault_is_the_one_that_is_named() -> None:
    assert refusal("1,2.5,\nx,2.5,\n1,y,\n").value == "x"


def test_a_quote_is_no_part_of_a_number() -> None:
    assert refusal('"1",2.5,\n').value == '"1"'


def test_little_is_shown_of_much_and_nothing_that_is_no_text() -> None:
    assert excerpt(b"x" * 100) == "x" * 60
    assert excerpt(b"a\xff\x00") == "a\\xff\x00"


def test_no_log_is_said_with_its_first_line() -> None:
    error = not_a_log("f, line 1", b"hello", "a hint")
    assert error.message == (
        "cannot use 'hello': an interrupt log must be intlog's text, EbbRT's memory, a CSV file or Parquet (f, line 1)"
    )
    assert error.hint == "a hint"
