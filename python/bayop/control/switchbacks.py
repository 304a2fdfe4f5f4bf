"""Switchbacks of what is held: when the default is in effect for a window, and when they say to let go."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from bayop.control.ledger import LedgerWindow
from bayop.control.notes import SwitchedBack
from bayop.control.phase import INSTANT_S
from bayop.errors import InputError
from bayop.space import Setting
from bayop.switchback import FEWEST, HeldSaving, Schedule, Switchback, held_saving
from bayop.units import DAY_S

MOST: Final = 1000
"""So many switchbacks are judged by, the newest: some weeks of them."""

_WHOLE: Final = 0.5
"""A window of a switchback lasts for this share of a whole one at least: it begins when the setting is in effect."""


@dataclass(frozen=True, slots=True)
class SwitchbackTerms:
    """How what is held is compared with the default.

    Attributes:
        schedule: How often.
        seed: Makes the random times; services of different seeds have different ones.
        enough: After so many switchbacks a saving must show.
        rest_s: How long nothing is searched, unless asked for or because the SLO is missed, after a setting was let go
            of because it saves nothing; and how long there is no switchback after one in which the default missed the
            SLO.
    """

    schedule: Schedule
    seed: str
    enough: int = 60
    rest_s: float = DAY_S

    def __post_init__(self) -> None:
        if not (FEWEST <= self.enough <= MOST and self.rest_s >= 0.0):
            raise InputError(
                f"a saving must show after {FEWEST} to {MOST} switchbacks, and a rest be no time at least",
                value=(self.enough, self.rest_s),
            )


@dataclass(frozen=True, slots=True)
class _Begun:
    """A switchback that is under way: when it began, with which setting, and what its windows took so far, in W."""

    start_s: float
    setting: Setting
    before_w: float
    pause_s: float
    default_w: float | None = None


class Switchbacks:
    """What there is to know between two windows. Sees every window; a draw depends on the seed and the time alone.

    So a controller that begins anew goes on as one that was never ended.

    Args:
        terms: How to compare; None never does.
        known: Those of before, oldest first, since a setting was let go of last.
        let_go_s: When that was; None where it was not.
    """

    def __init__(
        self, terms: SwitchbackTerms | None, known: Iterable[Switchback] = (), let_go_s: float | None = None
    ) -> None:
        self._terms = terms
        self._known: list[Switchback] = []
        self._pause_s = math.inf
        """The mean pause between two switchbacks, by what is known."""
        self._verdict: HeldSaving | None = None
        self._let_go_s = -math.inf if let_go_s is None else let_go_s
        self._missed_s = -math.inf
        """When the default has missed the SLO last."""
        self._begun: _Begun | None = None
        self._judge(list(known)[-MOST:])

    @property
    def under_way(self) -> bool:
        """Whether the default is in effect for a switchback."""
        return self._begun is not None and self._begun.default_w is None

    def is_due(self, now_s: float, last: LedgerWindow | None) -> bool:
        """Whether the next window is to be one of the default."""
        terms = self._terms
        if terms is None or last is None or now_s < self._missed_s + terms.rest_s:
            return False
        if last.phase != "hold" or not last.meets_slo or not self._is_whole(last) or now_s - last.end_s > INSTANT_S:
            return False
        window_s = terms.schedule.window_s
        draw = Random(f"{terms.seed}/{math.floor(now_s / window_s + INSTANT_S)}")
        return terms.schedule.is_due(self._pause_s, draw)

    def begin(self, last: LedgerWindow) -> None:
        """Notes that one is under way, after its first window."""
        if last.setting is not None and last.power_w is not None:
            self._begun = _Begun(last.start_s, last.setting, last.power_w, self._pause_s)

    def see(self, window: LedgerWindow) -> SwitchedBack | None:
        """Takes in a window that has ended; the switchback that it completes."""
        if window.setting is None and not window.meets_slo:
            self._missed_s = window.end_s
        begun, self._begun = self._begun, None
        if begun is None or window.power_w is None or not self._is_whole(window):
            return None
        if begun.default_w is None:
            if window.phase == "switchback":
                self._begun = replace(begun, default_w=window.power_w)
            return None
        if window.phase != "hold" or window.setting != begun.setting:
            return None
        switchback = Switchback(begun.before_w, begun.default_w, window.power_w, begun.pause_s)
        self._judge([*self._known[1 - MOST :], switchback])
        return SwitchedBack(begun.start_s, window.end_s, begun.setting, switchback)

    def verdict(self) -> HeldSaving | None:
        """The saving, when it is reason enough to let go: the newest surely show a loss, or all of them no saving."""
        return self._verdict

    def let_go(self, now_s: float) -> None:
        """Notes that the setting was let go of; what comes is judged anew."""
        self._let_go_s = now_s
        self._judge([])

    def rests(self, now_s: float) -> bool:
        """Whether nothing is to be searched for a while, since what was found before saved nothing."""
        return self._terms is not None and now_s < self._let_go_s + self._terms.rest_s

    def _judge(self, known: list[Switchback]) -> None:
        self._known, self._verdict = known, None
        if (terms := self._terms) is None:
            return
        whole = held_saving(known) if known else None
        self._pause_s = terms.schedule.pause_s(whole)
        if whole is None or len(known) < FEWEST:
            return
        newest = held_saving(known[-terms.enough :])
        # It is looked at after each: an interval of 95 % would lie below 0 at some time on one day in ten with nothing
        # to gain.
        if newest.high + (newest.high - newest.value) < 0.0:
            self._verdict = newest
        elif len(known) >= terms.enough and not whole.significant:
            self._verdict = whole

    def _is_whole(self, window: LedgerWindow) -> bool:
        least_s = 0.0 if self._terms is None else _WHOLE * self._terms.schedule.window_s
        return window.cut_short is None and window.duration_s >= least_s
