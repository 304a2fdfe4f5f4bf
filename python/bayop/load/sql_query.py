"""What PostgreSQL is asked, and by whom."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bayop.errors import InputError, unreadable


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlText:
    """One of the things that are asked.

    Attributes:
        name: What it is called in the result of a mix.
        text: The query; `{n}` in it is the number of a record.
        weight: How often it is asked, relative to the others of a workload.
    """

    name: str = ""
    text: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlQuery:
    """Queries, sent as simple ones (PostgreSQL's documentation, "Frontend/Backend Protocol"), and who asks them.

    Attributes:
        texts: What is asked, by weight.
        user: Who asks.
        password: What the server is told where it asks for one.
        database: The database; None for the one with the user's name.
    """

    texts: tuple[SqlText, ...] = (SqlText(text="SELECT 1"),)
    user: str = "postgres"
    password: str | None = None
    database: str | None = None


def read_password(path: Path) -> str:
    """The first line of a file.

    Raises:
        InputError: it can't be read, or there is nothing in its first line.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError) as error:
        raise unreadable(path, error) from error
    if not lines or not lines[0]:
        raise InputError("the first line must be a password", value=str(path))
    return lines[0]
