from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayop.errors import InputError
from bayop.idle.trace import NO_TIMER_US, Trace, read_trace, write_trace

NUMBERS = st.integers(0, 2**32 - 1)
ROWS = st.lists(
    st.tuples(NUMBERS, NUMBERS, NUMBERS, st.integers(0, 2), NUMBERS, st.integers(-1, 2**32 - 1)), min_size=1
).filter(lambda rows: any(length_us for _, length_us, *_ in rows))


@given(rows=ROWS, compressed=st.booleans())
def test_what_is_written_is_read(rows: list[tuple[int, int, int, int, int, int]], compressed: bool) -> None:  # noqa: FBT001
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("some.csv.gz" if compressed else "some.csv")
        write_trace(Trace("some", tuple(rows)), path)
        assert read_trace(path) == Trace("some", tuple(rows))


def test_a_trace_without_a_header_is_read(tmp_path: Path) -> None:
    path = tmp_path / "bare.csv"
    path.write_text("2,1159,1159,2,0,-1\n1170,1501,3989,0,0,-1\n", encoding="utf-8")
    assert read_trace(path).rows == ((2, 1159, 1159, 2, 0, -1), (1170, 1501, 3989, 0, 0, -1))


def test_an_interrupt_log_is_idle_between_interrupts(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("entry,time_us,since_prev_us\n1,72.5,\n2,306.9,234.4\n3,307.2,0.3\n", encoding="utf-8")
    assert read_trace(path).rows == ((72, 234, NO_TIMER_US, 1, 1, 0),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must have idle periods"),
        ("1,2,3\n", "six whole numbers"),
        ("1,2,3,4,5,6\n", "waker must be 0, 1 or 2"),
        ("1,-2,3,1,5,6\n", "fit into 32 bits, start_us into 62"),
        (f"{2**62},2,3,1,5,6\n", "fit into 32 bits, start_us into 62"),
        ("1,0,3,1,5,6\n20,0,3,1,5,6\n", "longer than 0 us"),
        ("time_us,since_prev_us\nnan,2\n", "time_us must fit into 62 bits"),
        ("time_us,since_prev_us\n9,inf\n", "time_us must fit into 62 bits"),
        ("time_us,since_prev_us\n-3,2\n", "time_us must fit into 62 bits"),
        ("time_us,since_prev_us\n9,-2\n", "time_us must fit into 62 bits"),
        ("time_us,since_prev_us\n9,10\n", "time_us must fit into 62 bits"),
        ("time_us,since_prev_us\n1e300,2\n", "time_us must fit into 62 bits"),
        ("time_us,since_prev_us\n9e9,5e9\n", "time_us must fit into 62 bits"),
        ("start_us,length_us\n", "six whole numbers"),
        ("time_us,since_prev_us\n1,x\n", "must have time_us and since_prev_us"),
    ],
)
def test_what_is_no_trace_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "wrong.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_trace(path)


@pytest.mark.parametrize("deflated", [b"\xff\xff", b""], ids=["no such block", "cut off"])
def test_a_damaged_file_is_refused(deflated: bytes, tmp_path: Path) -> None:
    path = tmp_path / "damaged.csv.gz"
    path.write_bytes(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff" + deflated)
    with pytest.raises(InputError, match=rf"^cannot read {path}: it is not whole, or not of gzip$"):
        read_trace(path)


def test_a_file_that_cannot_be_read_is_one_like_any_other(tmp_path: Path) -> None:
    (binary := tmp_path / "binary.csv").write_bytes(b"\xff\xfe")
    for path, why in ((tmp_path / "nope.csv.gz", "no such file"), (tmp_path, "is a directory"), (binary, "not text")):
        with pytest.raises(InputError, match=rf"^cannot read {path}: [^\[]*{why}"):
            read_trace(path)


def test_a_long_line_is_not_echoed(tmp_path: Path) -> None:
    (path := tmp_path / "wide.csv").write_text(",".join(f"column{n}" for n in range(100)), encoding="utf-8")
    with pytest.raises(InputError, match="six whole numbers") as caught:
        read_trace(path)
    assert len(caught.value.message) < 300 + len(str(path))
