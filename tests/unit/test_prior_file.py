from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.errors import says

from bayop.errors import InputError
from bayop.optimize.grey_box.outputs import RESIDUAL_SCALES
from bayop.optimize.grey_box.prior import SHAPES
from bayop.optimize.server_class import ServerClass
from bayop.prior_file import PriorFile

FILE = PriorFile(3, ('a "study".csv', "b.parquet"), ServerClass(dict(SHAPES), dict(RESIDUAL_SCALES)))


def written(folder: Path, text: str) -> Path:
    path = folder / "my.prior.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    again = PriorFile.read(written(tmp_path, str(FILE)))
    assert (again.servers, again.studies) == (FILE.servers, FILE.studies)
    assert again.server_class.residual == pytest.approx(FILE.server_class.residual)
    assert list(again.server_class.shapes) == list(SHAPES)
    for name, spread in again.server_class.shapes.items():
        assert spread == pytest.approx(SHAPES[name], abs=1e-6)


@pytest.mark.parametrize(
    ("line", "instead", "message"),
    [
        (r"servers = 3", "servers = 0", "my.prior.toml:4: it must be a whole number"),
        (r"servers = 3", "", "my.prior.toml: servers is missing"),
        (r"studies = .*", "studies = [1]", "my.prior.toml:5: it must be a list of files"),
        (r'"a" = .*', '"alpha" = { mean = 0.8, sd = 0.2 }', "my.prior.toml:9: there is no key 'alpha'"),
        (r'"a" = .*', "", "my.prior.toml:7: a is missing"),
        (r'"a" = .*', '"a" = { mean = 0.8 }', "my.prior.toml:9: a parameter must be { mean = NUMBER, sd = NUMBER }"),
        (r'"a" = .*', '"a" = { mean = nan, sd = 0.2 }', "my.prior.toml:9: it must be a number from -100 to 100"),
        (r'"a" = .*', '"a" = { mean = 0.8, sd = 0.0 }', "my.prior.toml:9: it must be a number from 0.001 to 100"),
        (r'"8" = .*', '"8" = 0.3', "my.prior.toml:20: the shares of the residual must add up to 1"),
        (r'"8" = .*', '"16" = 0.1', "my.prior.toml:24: there is no key '16'"),
        (r"\[residual\]", "[noise]", "my.prior.toml:20: there is no key 'noise'"),
    ],
)
def test_what_is_damaged_is_refused_with_its_line(tmp_path: Path, line: str, instead: str, message: str) -> None:
    text, count = re.subn(f"^{line}$", instead, str(FILE), flags=re.MULTILINE)
    assert count == 1
    with pytest.raises(InputError) as caught:
        PriorFile.read(written(tmp_path, text))
    assert says(caught.value, message), caught.value.message
