"""What is prepared is there whole, or not at all; tests/unit/applications/test_serve.py prepares something."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bayop.applications.cache import cache_folder, new_cache, packages_folder
from bayop.applications.definition import Application

APPLICATION = Application(
    name="mine",
    licence="MIT",
    packages={},
    start=("serve", "{cache}"),
    port=80,
    protocol="http",
    files={"index": "a"},
    prepare=("index", "{cache}"),
)


def test_each_content_of_a_definition_has_a_place_of_its_own() -> None:
    place = cache_folder(APPLICATION)
    assert place.name.startswith("mine-")
    assert cache_folder(replace(APPLICATION, port=81)) == place
    others = [replace(APPLICATION, files={"index": "b"}), replace(APPLICATION, prepare=("index", "-v", "{cache}"))]
    bringing = replace(APPLICATION, packages={"npm": ("fastify@4.28.1",)})
    assert cache_folder(bringing) == place
    assert packages_folder(bringing) != packages_folder(APPLICATION) != place
    assert place not in {cache_folder(other) for other in others}


def test_what_was_prepared_is_in_its_place_and_an_error_leaves_nothing(tmp_path: Path) -> None:
    place = tmp_path / "caches" / "mine"
    with pytest.raises(FileNotFoundError), new_cache(place) as filling:
        (filling / "half" / "done").touch()
    assert list(place.parent.iterdir()) == []
    with new_cache(place) as filling:
        (filling / "index").write_text("whole")
        assert not place.exists()
    assert [path.name for path in place.parent.iterdir()] == ["mine"]
    assert (place / "index").read_text() == "whole"


def test_of_two_that_prepare_at_once_the_first_is_kept(tmp_path: Path) -> None:
    place = tmp_path / "mine"
    with new_cache(place) as slower:
        (slower / "index").write_text("slower")
        with new_cache(place) as faster:
            (faster / "index").write_text("faster")
    assert (place / "index").read_text() == "faster"
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
