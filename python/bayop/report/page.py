"""The page of an experiment: what came out, what to know before, the numbers, the figures, and how it was made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path

from bayop.errors import unwritable
from bayop.report import REPORT
from bayop.report.document import document, tiles
from bayop.report.style import bayop_style
from bayop.report.svg import Drawing, save


def write_page(
    folder: Path, draw: Callable[[], Sequence[Drawing]], render: Callable[[Sequence[Drawing], Mapping[str, str]], str]
) -> Path:
    """Writes a page and its figures into a folder.

    Args:
        folder: It is there.
        draw: The figures.
        render: The page of the figures, and of their SVG documents by name.

    Returns:
        The HTML file.

    Raises:
        InputError: the folder can't be written.
    """
    try:
        with bayop_style():
            drawings = draw()
        svgs = {drawing.name: save(drawing, folder) for drawing in drawings}
        page = folder / REPORT
        page.write_text(render(drawings, svgs), encoding="utf-8")
    except OSError as error:
        raise unwritable(folder, error) from error
    return page


def experiment_page(
    title: str,
    headline: str,
    *,
    caveats: Sequence[str],
    numbers: Sequence[tuple[str, str]],
    parts: Sequence[str],
    about_method: str,
) -> str:
    """The whole document; `parts` is HTML, everything else plain text."""
    return document(
        title,
        [
            f"<h1>{escape(title)}</h1>",
            f'<p class="lead">{escape(headline)}</p>',
            *(f"<p>{escape(sentence)}</p>" for sentence in caveats),
            tiles(numbers),
            *parts,
            f"<footer><p>{escape(about_method)}</p></footer>",
        ],
    )


def busy_before(share: float) -> str:
    """The caveat that a machine had other work, without what that means for the experiment."""
    return f"This machine was {share:.0%} busy with other work before the load began."
