"""Several requests, by weight, from a file: each is a table, with a name of the user's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar, get_args

from bayop.errors import InputError
from bayop.load.bodies import read_bodies
from bayop.load.http_request import HttpRequest, Method, check_header
from bayop.load.plan import Dialect, check_request
from bayop.load.sql_query import SqlText
from bayop.toml_file import Reader, TomlFile, number, text

_LEAST_WEIGHT: Final = 1e-9
_MOST_WEIGHT: Final = 1e9
_WEIGHT: Final[Mapping[str, Reader]] = {"weight": number(_LEAST_WEIGHT, _MOST_WEIGHT)}

_Request = TypeVar("_Request")


def read_requests(path: Path, dialect: Dialect, method: Method, headers: Sequence[str]) -> tuple[HttpRequest, ...]:
    """HTTP requests. Bodies are found beside the file.

    Args:
        path: The file.
        dialect: What the server speaks.
        method: That of requests that name none.
        headers: Those that every request has, beside its own.

    Raises:
        InputError: it can't be read, or is something else.
    """
    keys = {
        **_WEIGHT,
        "method": _method,
        "path": text,
        "headers": _headers,
        "body": lambda value: read_bodies(path.parent / text(value)),
    }

    def request(name: str, values: Mapping[str, Any]) -> HttpRequest:
        own = _renamed(values, "body", "bodies")
        asked = HttpRequest(name=name, **{"method": method, **own, "headers": (*headers, *own.get("headers", ()))})
        check_request(asked, dialect)
        return asked

    return _read(path, keys, "path", request)


def read_queries(path: Path) -> tuple[SqlText, ...]:
    """Queries of PostgreSQL.

    Raises:
        InputError: the file can't be read, or is something else.
    """
    keys = {**_WEIGHT, "query": text}
    return _read(path, keys, "query", lambda name, values: SqlText(name=name, **_renamed(values, "query", "text")))


def _read(
    path: Path, keys: Mapping[str, Reader], required: str, build: Callable[[str, Mapping[str, Any]], _Request]
) -> tuple[_Request, ...]:
    file = TomlFile(path)
    names = file.table_names()
    file.check_tables(dict.fromkeys(names), {})
    if not names:
        raise InputError("a mix must have a table for each request", wrong=f"{path} has no table", hint="[read]")
    requests = []
    for name in names:
        values = file.read(name, keys)
        file.require(name, values, [required], f"a request must have a {required}")
        try:
            requests.append(build(name, values))
        except InputError as error:
            raise error.but(place=file.place(name, error.place if error.place in values else None)) from error
    return tuple(requests)


def _renamed(values: Mapping[str, Any], key: str, name: str) -> dict[str, Any]:
    return {name if each == key else each: value for each, value in values.items()}


def _method(value: object) -> Method:
    for method in get_args(Method):
        if method == value:
            return method  # type: ignore[no-any-return]
    raise InputError(f"it must be {', '.join(get_args(Method))}", value=value)


def _headers(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise InputError("it must be a list of headers", value=value)
    return tuple(check_header(text(header)) for header in value)
