"""Drives a controller by a clock: whatever it decides is done to a live machine, until somebody wants it to end.

A machine that is only observed needs no controller: nothing here writes to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, Protocol

from bayop.control.actions import Answer, Applied, Apply, Done, FellBack, Watch
from bayop.control.controller import Controller
from bayop.control.ledger import LedgerWindow
from bayop.control.phase import window_end_s
from bayop.measurement import Measurement
from bayop.slo import Slo
from bayop.space import Setting


class AskedError(Exception):
    """Somebody wants a search now. Raised in a window that may end for it (`Controller.may_end_window`)."""


class SteeredMachine(Protocol):
    """A machine in its default, to be steered in its own time."""

    @property
    def qps(self) -> float:
        """Offered load as it was seen last, in requests/s."""
        ...

    def apply(self, setting: Setting) -> Setting:
        """Puts a setting in effect for a trial; what then is."""
        ...

    def hold(self, setting: Setting) -> Setting:
        """Puts a setting in effect until the next search, under a guard beside the machine; what then is."""
        ...

    def restore(self) -> None:
        """Puts the default back."""
        ...

    def trial(self) -> Measurement:
        """A trial's window, however long the machine needs for it."""
        ...

    def watch(self, duration_s: float) -> Measurement | FellBack:
        """A window of so many seconds.

        Raises:
            AskedError: it was ended, and is forgotten.
        """
        ...


def keep(controller: Controller, machine: SteeredMachine, clock: Callable[[], float]) -> None:
    """Does what the controller decides, until it is done or something is raised; what is in effect then stays.

    Args:
        controller: What decides; at its start.
        machine: What it is done to.
        clock: The time, in s; clock triggers fire at the first end of a window after its multiples.
    """
    answer: Answer | None = None
    while not isinstance(action := controller.poll(clock(), machine.qps, answer), Done):
        answer = _do(controller, machine, action, clock)


def _do(
    controller: Controller, machine: SteeredMachine, action: Apply | Watch, clock: Callable[[], float]
) -> Answer | None:
    if not isinstance(action, Apply):
        if controller.searching:
            return machine.trial()
        try:
            return machine.watch(action.until_s - clock())
        except AskedError:
            controller.ask()
            return None
    if action.setting is None:
        machine.restore()
        return Applied(None)
    return Applied(machine.apply(action.setting) if controller.searching else machine.hold(action.setting))


class WatchedMachine(Protocol):
    """A machine that nothing is written to by us."""

    @property
    def qps(self) -> float:
        """Offered load as it was seen last, in requests/s."""
        ...

    @property
    def is_steered(self) -> bool:
        """Whether a setting is in effect that somebody else has applied."""
        ...

    def watch(self, duration_s: float) -> Measurement | FellBack:
        """A window of so many seconds."""
        ...


def observe(
    machine: WatchedMachine,
    slo: Slo,
    watch_s: float,
    clock: Callable[[], float],
    on_window: Callable[[LedgerWindow], None],
    *,
    phase_s: float = 0.0,
) -> NoReturn:
    """Watches a machine as it is until something is raised; windows end `phase_s` after multiples of `watch_s`."""
    is_steered = machine.is_steered
    while True:
        start_s, qps, was_steered = clock(), machine.qps, is_steered
        seen = machine.watch(window_end_s(start_s, watch_s, phase_s) - start_s)
        measurement = seen.measurement if isinstance(seen, FellBack) else seen
        is_steered = machine.is_steered
        on_window(
            LedgerWindow.of(
                measurement,
                slo,
                start_s=start_s,
                duration_s=clock() - start_s,
                phase="other" if was_steered or is_steered else "default",
                setting=None,
                qps=qps,
            )
        )
