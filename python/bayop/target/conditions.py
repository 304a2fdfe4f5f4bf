"""What other knobs must be set to for a knob to matter, as the kernel has it."""

from __future__ import annotations

from bayop.catalogue import knob_entry
from bayop.domains import Condition, parse_condition


def conditions_of(knob_id: str) -> tuple[Condition, ...]:
    """What the catalogue says of a knob; nothing of one that it does not have."""
    entry = knob_entry(knob_id)
    return tuple(parse_condition(other, values) for other, values in entry["only_with"].items()) if entry else ()
