from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from bayop.errors import InputError
from bayop.study import open_study, trusted
from bayop.study.example import example_file, example_names, study_file


@pytest.mark.parametrize("name", ["memcached", "silo"])
def test_an_example_is_an_excerpt_of_the_published_study(name: str, data: Path) -> None:
    example = open_study(example_file(name))
    published = trusted(open_study(data / f"study_{name}.csv"))
    excerpt = published.filter(pl.col("os") == "linux", pl.col("asked.power.cap_w").is_null())
    assert_frame_equal(example, excerpt.select(example.columns), check_exact=True)


def test_all_examples_are_small_and_named_with_their_source() -> None:
    assert example_names() == ("memcached", "silo")
    assert sum(example_file(name).stat().st_size for name in example_names()) < 100_000
    page = example_file("silo").with_name("README.md").read_text(encoding="utf-8")
    assert all(f"`{example_file(name).name}`" in page for name in example_names())


def test_an_unknown_example_is_refused_with_the_one_that_may_be_meant() -> None:
    with pytest.raises(InputError) as caught:
        example_file("memcache")
    assert caught.value.message == "there is no example 'memcache'"
    assert caught.value.hint == "did you mean example:memcached? the examples are example:memcached, example:silo"
    with pytest.raises(InputError) as caught:
        example_file("")
    assert caught.value.hint == "the examples are example:memcached, example:silo"


def test_a_study_is_named_by_its_path_or_as_an_example() -> None:
    assert study_file("mine.csv") == study_file(Path("mine.csv")) == Path("mine.csv")
    assert study_file("example:silo") == example_file("silo")
    assert study_file(Path("example:silo")) == Path("example:silo"), "a path is a path"
