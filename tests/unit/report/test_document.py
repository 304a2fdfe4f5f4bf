from __future__ import annotations

import re

import pytest

from bayop.report.document import document, section, tiles
from bayop.report.style import bayop_style, new_figure
from bayop.report.svg import Drawing, svg_text


@pytest.fixture
def drawing() -> Drawing:
    with bayop_style():
        figure, (axes,) = new_figure()
        axes.plot([0, 1], [0, 1])
    return Drawing("one", "A < B", "Says what", "It <b>falls</b>.", figure)


def test_a_document_is_whole_and_needs_nothing_else() -> None:
    text = document("A & B", ["<p>first</p>", "<p>second</p>"])
    assert text.startswith("<!doctype html>\n")
    assert text.endswith("</html>\n")
    assert "<title>A &amp; B</title>" in text
    assert "<main>\n<p>first</p>\n<p>second</p>\n</main>" in text
    assert not re.search(r"(?:src|href)=|@import|url\((?!#)", text)


def test_it_is_in_the_readers_light_or_dark() -> None:
    assert "prefers-color-scheme: dark" in document("", [])


def test_a_section_has_its_figure_and_its_caption_as_html(drawing: Drawing) -> None:
    text = section(drawing, svg_text(drawing))
    assert text.startswith('<section>\n<h2>A &lt; B</h2>\n<figure><div class="drawing" role=')
    assert text.endswith("</svg></div><figcaption>It <b>falls</b>.</figcaption></figure>\n</section>")


def test_tiles_are_numbers_with_what_they_are() -> None:
    assert tiles([("43 %", "less power"), ("<1", "trial")]) == (
        '<ul class="tiles"><li><b>43 %</b> less power</li><li><b>&lt;1</b> trial</li></ul>'
    )
