"""An HTML document in one file, in the reader's light or dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files

from bayop.report.svg import Drawing, inline


def document(title: str, parts: Sequence[str]) -> str:
    """The whole document: its style, and the parts of its body."""
    css = (files("bayop.report") / "page.css").read_text(encoding="utf-8")
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{css}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def drawn(drawing: Drawing, svg: str) -> str:
    """A figure's drawing; where the page is too narrow for its letters, it scrolls by itself."""
    name = escape(drawing.title)
    return f'<div class="drawing" role="group" tabindex="0" aria-label="{name}">{inline(svg, drawing)}</div>'


def section(drawing: Drawing, svg: str) -> str:
    """A figure with its title and its caption."""
    return (
        f"<section>\n<h2>{escape(drawing.title)}</h2>\n<figure>{drawn(drawing, svg)}"
        f"<figcaption>{drawing.caption}</figcaption></figure>\n</section>"
    )


def tiles(numbers: Sequence[tuple[str, str]]) -> str:
    """Numbers that stand out, each with what it is."""
    items = "".join(f"<li><b>{escape(number)}</b> {escape(text)}</li>" for number, text in numbers)
    return f'<ul class="tiles">{items}</ul>'


def table(head: Sequence[str], rows: Sequence[str], caption: str | None = None, *, wraps: bool = False) -> str:
    """A table of rows; where the page is too narrow for it, it scrolls by itself, or its cells wrap."""
    words = f'<caption class="soft">{escape(caption)}</caption>' if caption else ""
    top = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    body = "\n".join(rows)
    inner = f"<table>{words}<thead><tr>{top}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"
    return f'<div class="table{" wrapped" if wraps else ""}">{inner}</div>'


def number(value: float | None, how: str) -> str:
    """A cell's number, in a format such as `.1f`; a dash where there is none."""
    return "-" if value is None else format(value, how)


def row(first: str, cells: Sequence[str]) -> str:
    """A row of a table: what it is about, and its cells."""
    return f'<tr><th scope="row">{escape(first)}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in cells)}</tr>'
