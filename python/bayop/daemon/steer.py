"""The controller of a live service: its policy from the file, its past from the state, its words to the reporter."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from bayop.control.controller import ASKED_FOR, Controller
from bayop.control.ledger import LedgerWindow, Search
from bayop.control.switchbacks import MOST, Switchbacks
from bayop.control.warm import Warm
from bayop.daemon.file import ServiceFile
from bayop.daemon.forecast import Forecast
from bayop.daemon.halts import Halts
from bayop.daemon.notes import take_note
from bayop.daemon.policy import policy_of
from bayop.daemon.report import Reporter
from bayop.daemon.turns import Turn
from bayop.optimize import make_optimizer
from bayop.space import Space
from bayop.state.store import Store


def controller_of(
    file: ServiceFile,
    store: Store,
    reporter: Reporter,
    halts: Halts,
    turn: Turn,
    *,
    space: Space,
    trial_s: float,
    on_window: Callable[[LedgerWindow], None],
) -> Controller:
    """A controller at its start. Searches are counted on from those that the state has.

    Args:
        file: What is to be done.
        store: What is known, and remembered.
        reporter: Who is told of searches, and of what becomes of what they have found.
        halts: When nothing may be tried.
        turn: Whether it may search.
        space: What is searched.
        trial_s: How long a trial takes.
        on_window: Called after each window.
    """
    searches, now_s = store.last_search(file.name), reporter.clock()
    policy = replace(policy_of(file, space), trial_s=trial_s)
    waited_for: str | None = None

    def may_search(reason: str) -> bool:
        nonlocal waited_for
        may = turn.take(is_asked=reason == ASKED_FOR)
        if turn.waits_for not in (None, waited_for):
            line = f"waits for {turn.waits_for}: of the group {file.group} one is searched at a time"
            reporter.say("waits", line, service=file.name, waits_for=turn.waits_for)
        waited_for = turn.waits_for
        return may

    def window_counted(window: LedgerWindow) -> None:
        nonlocal waited_for
        if controller.between_searches:
            waited_for = turn.waits_for
            turn.clear()
        number = window.search
        on_window(window if number is None else replace(window, search=searches + number))

    def search_counted(search: Search) -> None:
        turn.end()
        reporter.search(file.name, replace(search, number=searches + search.number))

    controller = Controller(
        policy,
        lambda problem, number: make_optimizer("grey-box", problem, seed=searches + number),
        history=store.history(
            file.name, knobs=space.ids, quantities={*file.slo.quantities, *file.objective.quantities}
        ),
        timer=time.perf_counter,
        halted=halts.heed,
        may_search=may_search,
        switchbacks=Switchbacks(
            file.savings.switchbacks,
            known=store.judged_switchbacks(file.name, now_s, MOST),
            let_go_s=store.let_go_s(file.name, now_s),
        ),
        warm=Warm(store.found(file.name, now_s), Forecast(file, store) if file.schedule else lambda _: None),
        on_window=window_counted,
        on_search=search_counted,
        on_note=lambda note: take_note(note, file.name, store, reporter),
    )
    return controller
