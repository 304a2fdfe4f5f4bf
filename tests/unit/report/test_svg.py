from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.patches import Patch

from bayop.report.style import INK, bayop_style, new_figure
from bayop.report.svg import PNG_DPI, Drawing, inline, save, svg_text


@pytest.fixture
def drawing() -> Drawing:
    with bayop_style():
        figure, (axes,) = new_figure()
        axes.plot([0, 1], [0, 1], "o-")
        axes.set_xlabel("a < b & c")
    return Drawing("one", "Title <1>", 'Says "what"', "<b>caption</b>", figure)


def test_the_same_figure_gives_the_same_text(drawing: Drawing) -> None:
    assert svg_text(drawing) == svg_text(drawing)


def test_inline_svg_is_well_formed_named_and_in_the_pages_ink(drawing: Drawing) -> None:
    text = inline(svg_text(drawing), drawing)
    root = ET.fromstring(text)  # noqa: S314 -- our own text
    assert root.get("role") == "img"
    assert [child.text for child in root[:2]] == ["Title <1>", 'Says "what"']
    assert INK not in text
    assert "currentColor" in text
    assert "<metadata" not in text
    assert "<!DOCTYPE" not in text


def test_ids_are_the_figures_own_and_every_reference_has_one(drawing: Drawing) -> None:
    text = inline(svg_text(drawing), drawing)
    ids = set(re.findall(r'\bid="([^"]+)"', text))
    assert ids
    assert all(i.startswith("one-") for i in ids)
    used = set(re.findall(r'href="#([^"]+)"', text)) | set(re.findall(r"url\(#([^)]+)\)", text))
    assert used <= ids


def test_files_are_svg_and_png(drawing: Drawing, tmp_path: Path) -> None:
    save(drawing, tmp_path)
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
    ET.parse(tmp_path / "one.svg")  # noqa: S314 -- our own file
    assert isinstance(drawing.figure, Figure)


def test_a_key_outside_the_axes_stays_in_the_figure(drawing: Drawing, tmp_path: Path) -> None:
    alone = title_strip(drawing, tmp_path)
    drawing.figure.legend(handles=[Patch(color="black", label="a key")], loc="outside upper center")
    assert np.array_equal(title_strip(drawing, tmp_path), alone)


def title_strip(drawing: Drawing, folder: Path) -> np.ndarray:
    """What stands above the figure in its PNG."""
    save(drawing, folder)
    picture = imread(folder / "one.png")
    return picture[: int(picture.shape[0] - drawing.figure.get_figheight() * PNG_DPI)]


def test_a_png_stands_under_its_title(drawing: Drawing, tmp_path: Path) -> None:
    save(drawing, tmp_path)
    width, height = drawing.figure.get_size_inches() * PNG_DPI
    picture = imread(tmp_path / "one.png")
    assert picture.shape[1] == pytest.approx(width, abs=1)
    strip = picture[: int(picture.shape[0] - height)]
    assert strip.shape[0] > 0.3 * PNG_DPI
    assert strip[..., :3].min() < 0.5
    assert not drawing.figure.texts
