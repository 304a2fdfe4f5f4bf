"""The load that comes soon to a live service, as the weeks before it have taught."""

from __future__ import annotations

from typing import Final

from bayop.control.week import Coming, Week
from bayop.daemon.file import ServiceFile
from bayop.state.store import Store
from bayop.units import DAY_S, HOUR_S

_WEEKS_S: Final = 8 * 7 * DAY_S
"""How far back is looked; what was seen before says little of today."""

_AHEAD_S: Final = 300.0
"""How long before the load a setting for it is in effect; or two windows, where these are longer."""


class Forecast:
    """What comes soon, learned anew in every hour from the windows that the state has.

    Args:
        file: What the file says of the service.
        store: What its windows have shown.
    """

    def __init__(self, file: ServiceFile, store: Store) -> None:
        self._file, self._store = file, store
        self._ahead_s = max(_AHEAD_S, 2 * file.watch_s)
        self._learned: tuple[float, Week] | None = None

    def __call__(self, now_s: float) -> Coming | None:
        """The greatest load of the hours that begin soon."""
        hour = now_s // HOUR_S
        if self._learned is None or self._learned[0] != hour:
            hours = self._store.hours(self._file.name, now_s - _WEEKS_S, now_s)
            self._learned = hour, Week(hours, self._file.quiet.zone)
        return self._learned[1].coming(now_s, self._ahead_s)
