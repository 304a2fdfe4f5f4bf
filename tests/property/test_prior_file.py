"""A class of servers survives its file, and a file of anything else is refused with an InputError."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayop.errors import InputError
from bayop.optimize.grey_box.outputs import RESIDUAL_SCALES
from bayop.optimize.grey_box.prior import SHAPES
from bayop.optimize.server_class import ServerClass, Spread
from bayop.prior_file import PriorFile

spreads = st.builds(Spread, st.floats(-50.0, 50.0), st.floats(0.001, 50.0))
shares = st.lists(st.floats(0.01, 1.0), min_size=4, max_size=4).map(lambda s: [x / sum(s) for x in s])
classes = st.builds(
    lambda known, likely: ServerClass(
        dict(zip(SHAPES, known, strict=True)), dict(zip(RESIDUAL_SCALES, likely, strict=True))
    ),
    st.lists(spreads, min_size=len(SHAPES), max_size=len(SHAPES)),
    shares,
)
files = st.builds(PriorFile, st.integers(1, 10**6), st.lists(st.text(min_size=1)).map(tuple).filter(bool), classes)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("prior") / "my.prior.toml"


def read_or_refuse(path: Path) -> ServerClass | InputError:
    """What was read, or the error that refused it; every other exception is a bug and passes through."""
    try:
        return PriorFile.read(path).server_class
    except InputError as error:
        return error


@given(file=files)
def test_what_is_written_is_read_again(path: Path, file: PriorFile) -> None:
    path.write_text(str(file), encoding="utf-8")
    again = PriorFile.read(path)
    assert (again.servers, again.studies) == (file.servers, file.studies)
    assert again.server_class.residual == pytest.approx(file.server_class.residual, abs=1e-6)
    for name, spread in file.server_class.shapes.items():
        assert again.server_class.shapes[name] == pytest.approx(spread, abs=1e-6)


@given(file=files, data=st.data())
def test_a_damaged_file_is_read_or_refused(path: Path, file: PriorFile, data: st.DataObject) -> None:
    text = str(file)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(start + 20, len(text))))
    path.write_text(text[:start] + data.draw(st.text('"=[]{}.-019ane\n', max_size=5)) + text[end:], encoding="utf-8")
    known = read_or_refuse(path)
    if isinstance(known, InputError):
        assert str(path) in str(known.place)
    else:
        assert list(known.shapes) == list(SHAPES)
        assert sum(known.residual.values()) == pytest.approx(1.0, abs=0.01)
        assert all(spread.sd > 0.0 for spread in known.shapes.values())
