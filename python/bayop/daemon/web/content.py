"""What is answered: a status, a type and bytes; and errors as such."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from bayop.daemon.operator.wire import from_error
from bayop.errors import BayopError

JSON: Final = "application/json"


@dataclass(frozen=True, slots=True)
class Content:
    """An answer.

    Attributes:
        kind: Its media type.
        body: Its bytes.
        status: What came of the request.
        headers: Further ones.
    """

    kind: str
    body: bytes
    status: HTTPStatus = HTTPStatus.OK
    headers: Mapping[str, str] = field(default_factory=dict)


class RefusedError(Exception):
    """A request that is not answered as it would like.

    Args:
        status: Why, for programs.
        error: Why, for people.
        headers: What the status asks for.
    """

    def __init__(self, status: HTTPStatus, error: BayopError, headers: Mapping[str, str] | None = None) -> None:
        self.status, self.error, self.headers = status, error, headers or {}
        super().__init__(error.message)

    @property
    def content(self) -> Content:
        """As an answer."""
        return Content(JSON, encode(from_error(self.error)), self.status, self.headers)


def encode(value: object) -> bytes:
    """JSON."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def json_content(value: object) -> Content:
    """An answer in JSON."""
    return Content(JSON, encode(value))
