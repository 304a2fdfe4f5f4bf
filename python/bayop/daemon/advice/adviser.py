"""When a service is advised, and when advice is held against what was measured later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from bayop.control.ledger import LedgerWindow
from bayop.daemon.advice.advice import advise
from bayop.daemon.advice.models import Model, model_of
from bayop.daemon.file import ServiceFile
from bayop.daemon.report import Reporter
from bayop.saving import Z_95
from bayop.space import Space
from bayop.state.store import Store
from bayop.units import round_significant

_MOST_WINDOWS: Final = 60
"""So many windows of the default are what a saving is told against."""


class Adviser:
    """Says what a search would find, at the first window and whenever the load has changed.

    Args:
        file: What the file says of the service.
        store: What is known of it.
        reporter: Who is told.
        space: What would be searched.
        listen: Called while it thinks; what it raises ends that.

    Raises:
        InputError: there is nothing to make advice of.
    """

    def __init__(
        self, file: ServiceFile, store: Store, reporter: Reporter, space: Space, *, listen: Callable[[], None]
    ) -> None:
        self._file, self._reporter, self._space, self._listen = file, reporter, space, listen
        quantities = {*file.slo.quantities, *file.objective.quantities}
        remembered = store.history(file.name, knobs=space.ids, quantities=quantities)
        self._model: Model = model_of(file, space, remembered)
        self._windows: list[LedgerWindow] = []
        self._advised_qps: float | None = None

    def heed(self, window: LedgerWindow) -> None:
        """Takes in a window, and says something where the load is another than when it last did."""
        if window.phase != "default" or window.power_w is None or not window.qps > 0:
            return
        if self._windows and not _is_near(window.qps, self._windows[0].qps, self._file.load_change):
            self._windows.clear()
        self._windows = [*self._windows[1 - _MOST_WINDOWS :], window]
        if self._advised_qps is not None and _is_near(window.qps, self._advised_qps, self._file.load_change):
            return
        advice = advise(self._file, self._space, self._model, self._windows, listen=self._listen)
        self._advised_qps = advice.qps
        if advice.is_informed:
            self._reporter.say("advice", advice.line, service=self._file.name, **advice.fields)
            return
        names = ("source", "qps", "predicted", "relative_sd", "slo_probability", "default_w")
        self._reporter.say(
            "no-advice", advice.line, service=self._file.name, **{name: advice.fields[name] for name in names}
        )


class Proof:
    """Holds the last advice against the first window in which what it named was in effect.

    Args:
        file: What the file says of the service.
        store: What was said.
        reporter: Who is told.
    """

    def __init__(self, file: ServiceFile, store: Store, reporter: Reporter) -> None:
        self._file, self._reporter = file, reporter
        advice = store.open_advice(file.name)
        self._advice = advice if advice is not None and advice["setting"] is not None else None

    def heed(self, window: LedgerWindow) -> None:
        """Takes in a window, and says how far off the advice was where the window shows it."""
        advice = self._advice
        if advice is None or window.setting is None or window.cut_short is not None:
            return
        if advice["setting"] != window.setting or not _is_near(window.qps, advice["qps"], self._file.load_change):
            return
        self._advice = None
        seen = {"power_w": window.power_w, self._file.slo.quantity: window.latency_us}
        measured = {name: round_significant(value) for name, value in seen.items() if value is not None}
        predicted, sds = advice["predicted"], advice["relative_sd"]
        known = predicted.keys() & sds.keys()
        errors = {name: value / predicted[name] - 1 for name, value in measured.items() if name in known}
        said = ", ".join(f"{n} {e:+.1%} (expected within +-{Z_95 * sds[n]:.0%})" for n, e in errors.items())
        self._reporter.say(
            "advice-proven",
            f"what was advised at {advice['qps']:.0f} qps is in effect; against what was expected: {said}",
            service=self._file.name,
            setting=dict(window.setting),
            qps=round_significant(window.qps),
            predicted=predicted,
            relative_sd=sds,
            measured=measured,
            errors={name: round_significant(error, 3) for name, error in errors.items()},
        )


def _is_near(qps: float, other: float, share: float) -> bool:
    return abs(qps / other - 1.0) <= share
