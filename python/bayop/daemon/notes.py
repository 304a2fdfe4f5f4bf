"""What a controller notes of a held setting: remembered, and said where it changes what is held."""

from __future__ import annotations

from bayop.control.notes import LetGo, Note, Polished, SwitchedBack
from bayop.daemon.report import Reporter
from bayop.space import format_setting
from bayop.state.store import Store


def take_note(note: Note, service: str, store: Store, reporter: Reporter) -> None:
    """Remembers a note of a service, and tells people and programs.

    Raises:
        StateError: it can't be remembered.
    """
    match note:
        case SwitchedBack():
            store.add_switchback(service, note)
        case Polished(setting, instead_of, qps, missed_slo):
            why = "which has missed the SLO" if missed_slo else "which promises to be better and is surely safe"
            reporter.decision(
                "polished",
                f"holds {format_setting(setting)} instead of {format_setting(instead_of)}, {why}",
                service=service,
                setting=dict(setting),
                instead_of=dict(instead_of),
                qps=qps,
                missed_slo=missed_slo,
            )
        case LetGo(setting, saving_w):
            seen = f"{saving_w.value:.3g} W ({saving_w.low:.3g} to {saving_w.high:.3g}) in {saving_w.switchbacks}"
            reporter.decision(
                "let-go",
                f"lets go of {format_setting(setting)}: what was held saves {seen} switchbacks",
                service=service,
                setting=dict(setting),
                switchbacks=saving_w.switchbacks,
                power_w={"value": saving_w.value, "low": saving_w.low, "high": saving_w.high},
            )
