"""The knobs that BayOp knows, whatever a machine has of them: the catalogue of the Rust core (`bayop knobs`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayop import _core
from bayop.errors import no_knob

if TYPE_CHECKING:
    from bayop._core import KnobEntry


def knob_ids() -> tuple[str, ...]:
    """Their ids, in the order of the catalogue."""
    return tuple(entry["id"] for entry in _core.knob_catalogue())


def knob_entry(knob_id: str) -> KnobEntry | None:
    """What the catalogue says of one; None when it is none of them."""
    return next((entry for entry in _core.knob_catalogue() if entry["id"] == knob_id), None)


def check_known(knob_id: str, *, place: str | None = None) -> None:
    """Refuses what no machine has.

    Raises:
        InputError: the catalogue does not have it.
    """
    known = knob_ids()
    if knob_id not in known:
        raise no_knob(knob_id, known, place=place)
