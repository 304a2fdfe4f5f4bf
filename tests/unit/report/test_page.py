from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from bayop.errors import InputError
from bayop.report.page import experiment_page, write_page
from bayop.report.svg import Drawing


def drawing() -> Drawing:
    return Drawing("curve", "A curve", "Nothing much.", "You see it.", Figure())


def test_the_page_stands_beside_its_figures(tmp_path: Path) -> None:
    page = write_page(tmp_path, lambda: [drawing()], lambda drawings, svgs: f"{drawings[0].title}: {svgs['curve'][:5]}")
    assert page.read_text(encoding="utf-8") == "A curve: <?xml"
    assert {path.name for path in tmp_path.iterdir()} == {"report.html", "curve.svg", "curve.png"}


def test_a_folder_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"cannot write {tmp_path}/none: no such file"):
        write_page(tmp_path / "none", list, lambda _drawings, _svgs: "")


def test_a_page_says_first_what_came_out_and_last_how() -> None:
    page = experiment_page(
        "A & B",
        "It saved 3 W.",
        caveats=["x < y."],
        numbers=[("3 W", "saved")],
        parts=["<h2>Parts</h2>"],
        about_method="By turns.",
    )
    order = ["<h1>A &amp; B</h1>", "It saved 3 W.", "<p>x &lt; y.</p>", "<b>3 W</b>", "<h2>Parts</h2>", "By turns.</p>"]
    places = [page.index(part) for part in order]
    assert places == sorted(places)
