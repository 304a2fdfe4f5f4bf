"""What tests ask of errors."""

from __future__ import annotations

from bayop.errors import BayopError


def says(error: BayopError, text: str) -> bool:
    """Whether an error says some words; with "PLACE: WORDS" also whether its place ends as that one."""
    place, colon, words = text.partition(": ")
    return words in error.message and str(error.place).endswith(place) if colon else text in error.message
