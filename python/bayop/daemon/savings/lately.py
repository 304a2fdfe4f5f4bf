"""What was saved in the last days."""

from __future__ import annotations

from typing import Final

from bayop.daemon.file import ServiceFile
from bayop.daemon.savings.account import Saved, saved
from bayop.state.store import StateError, Store
from bayop.units import DAY_S

LATELY_S: Final = 7 * DAY_S


def saved_lately(store: Store, file: ServiceFile, now_s: float) -> Saved | None:
    """What a service has saved in the last week; None where it held nothing, or the state can't be read."""
    since_s = now_s - LATELY_S
    try:
        time = store.held_time(file.name, since_s, now_s)
    except StateError:  # whoever wants to pause a service in trouble needs no savings
        return None
    return saved(time, file.savings.worth, since_s, now_s) if time.quarters else None
