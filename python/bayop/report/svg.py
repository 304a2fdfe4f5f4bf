"""Figures as files, and as SVG that can stand inside an HTML page."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from html import escape
from pathlib import Path
from textwrap import wrap
from typing import Final

import numpy as np
from matplotlib.figure import Figure
from matplotlib.image import imread, imsave

from bayop.errors import unwritable
from bayop.report.style import FAINT, INK, bayop_style

PNG_DPI: Final = 200
_SVG_DPI: Final = 90
"""Of what an SVG holds as pixels: the colours of maps."""
_PAPER: Final = "#ffffff"
_LETTERS_PER_INCH: Final = 11.5
_LINE: Final = 0.18
"""Of a title: how many letters fit, and how high a line is, in inches."""
# Ids of one figure, and the places that refer to them.
_ID: Final = re.compile(r'(\bid="|\bxlink:href="#|\bhref="#|url\(#)')
_HEADER: Final = re.compile(r"^.*?(?=<svg)", re.DOTALL)
_METADATA: Final = re.compile(r"<(metadata|title)>.*?</\1>\s*", re.DOTALL)
_ROOT: Final = re.compile(r"<svg\b[^>]*>", re.DOTALL)
_VIEW_BOX: Final = re.compile(r'viewBox="[^"]*"')


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure with the words that stand for it.

    Attributes:
        name: File name without its ending, and the id on a page.
        title: What it shows, in a line.
        description: What a reader who can't see it needs to know.
        caption: What you see, and why: plain HTML.
        figure: The drawing.
    """

    name: str
    title: str
    description: str
    caption: str
    figure: Figure


def svg_text(drawing: Drawing) -> str:
    """The figure as a complete SVG document; the same figure gives the same text."""
    buffer = io.StringIO()
    with bayop_style():
        drawing.figure.savefig(
            buffer, format="svg", metadata={"Date": None, "Title": drawing.title, "Creator": "bayop"}, dpi=_SVG_DPI
        )
    return buffer.getvalue()


def save(drawing: Drawing, folder: Path) -> str:
    """Writes NAME.svg and NAME.png, the latter under its title and on white paper; returns the SVG text.

    Raises:
        InputError: the disk does not take them.
    """
    text = svg_text(drawing)
    try:
        (folder / f"{drawing.name}.svg").write_text(text, encoding="utf-8")
        save_png(drawing, folder / f"{drawing.name}.png")
    except OSError as error:
        raise unwritable(folder / drawing.name, error) from error
    return text


@bayop_style()
def save_png(drawing: Drawing, path: Path) -> None:
    """The figure as it is, on white paper, and on top of it a strip of paper for its title."""
    width = drawing.figure.get_figwidth()
    lines = wrap(drawing.title, int(width * _LETTERS_PER_INCH))
    height = 0.18 + _LINE * len(lines)
    strip = Figure(figsize=(width, height))
    strip.text(0.1 / width, 1.0 - 0.1 / height, "\n".join(lines), fontsize=10.5, fontweight="bold", va="top")
    # As a picture of its own: in a taller figure, keys that stand outside its axes would move up into the title.
    picture = np.vstack([_pixels(strip), _pixels(drawing.figure)])
    imsave(path, picture, dpi=PNG_DPI, format="png", metadata={"Title": drawing.title})


def _pixels(figure: Figure) -> np.ndarray:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=PNG_DPI, facecolor=_PAPER)
    buffer.seek(0)
    return imread(buffer)


def inline(text: str, drawing: Drawing) -> str:
    """The SVG as an element of a page: named for screen readers, in the page's ink, with ids of its own."""
    body = _METADATA.sub("", _HEADER.sub("", text, count=1))
    body = _ID.sub(lambda match: f"{match[1]}{drawing.name}-", body)
    view_box = _VIEW_BOX.search(body)
    title, description = f"{drawing.name}-title", f"{drawing.name}-desc"
    root = (
        f'<svg role="img" aria-labelledby="{title} {description}" {view_box[0] if view_box else ""} '
        'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
        f'<title id="{title}">{escape(drawing.title)}</title>'
        f'<desc id="{description}">{escape(drawing.description)}</desc>'
    )
    body = _ROOT.sub(lambda _: root, body, count=1)
    return body.replace(INK, "currentColor").replace(FAINT, "var(--grid)").strip()
