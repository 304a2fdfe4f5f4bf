"""What verbs share when they print: JSON lines for programs, a rich console for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bayop.errors import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.text import Text

    from bayop.cli.terminal.tables import FittingTable


def print_json(event: Mapping[str, object]) -> None:
    """One JSON object on one line of stdout, flushed at once so that a reader can follow; NaN is refused."""
    sys.stdout.write(json.dumps(event, allow_nan=False) + "\n")
    sys.stdout.flush()


def console() -> Console:
    """The console for people: colours, live displays and wrapped lines only where stdout is a terminal."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=not sys.stdout.isatty())


def new_table(caption: str | None = None, *, drop: Sequence[str] = ()) -> FittingTable:
    """An empty table in the look of all tables; `drop` lists columns to leave out where it is wider than the screen."""
    from bayop.cli.terminal.tables import FittingTable

    return FittingTable(caption, drop)


def literal(text: str) -> Text:
    """Text from elsewhere as it is: brackets in it are no styles, and the terminal obeys nothing of it."""
    from rich.text import Text

    return Text("\n".join(map(printable, text.split("\n"))))


class Bar:
    """A progress bar of one task."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=total)

    def advance(self, steps: int = 1) -> None:
        """Moves on by some steps."""
        self._progress.advance(self._task, steps)

    def reach(self, step: int, *, of: int | None = None) -> None:
        """Moves on to a step; what was unknown before may have made the way longer."""
        self._progress.update(self._task, completed=step, total=of)


@contextmanager
def progress(what: str, total: int) -> Iterator[Bar]:
    """A progress bar on stderr, where that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        yield Bar(bars, total)
