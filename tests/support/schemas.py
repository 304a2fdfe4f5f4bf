"""Published schemas are open, because a later version may add fields; what is printed today has none beside them."""

from __future__ import annotations

from typing import Any


def closed(shape: Any) -> Any:
    """The schema without room for fields that it does not name."""
    if isinstance(shape, list):
        return [closed(part) for part in shape]
    if not isinstance(shape, dict):
        return shape
    parts = {name: closed(part) for name, part in shape.items()}
    return {"additionalProperties": False} | parts if "properties" in shape and "type" in shape else parts
