"""What `bayop twin fit --capture` prints: what is known of each number, and how wrong predictions are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bayop.cli.terminal.output import console, literal, new_table, print_json
from bayop.cli.twin.flags import fit_event, print_end
from bayop.space import AUTO, format_value
from bayop.units import round_significant

if TYPE_CHECKING:
    from rich.table import Table

    from bayop.twin.capture_fit import CaptureFit, CapturePrediction, Estimate
    from bayop.twin.observed import Observed

_QUANTITIES: Final[Mapping[str, tuple[str, str]]] = {
    "interrupts_per_s": ("int/s", ",.0f"),
    "packets_per_interrupt": ("packets/int.", ".2f"),
    "utilization": ("util.", ".3f"),
    "power_w": ("power (W)", ".1f"),
}


def setting_text(capture: Observed) -> str:
    """What was in effect during a capture, for people."""
    return ", ".join(f"{knob}={format_value(knob, value)}" for knob, value in capture.setting.items()) or AUTO


def print_events(profile: str, out: Path, fit: CaptureFit, captures: Sequence[Observed]) -> None:
    """For programs."""
    for capture in captures:
        print_json(_capture_event(capture))
    changes = {
        each.key: {"before": round_significant(each.before), "after": round_significant(each.after)}
        for each in fit.estimates
        if each.key in fit.values
    }
    print_json(fit_event(profile, changes, out, complete=fit.is_complete))
    for each in fit.estimates:
        print_json(_parameter_event(each))
    for prediction in fit.predictions:
        print_json(_prediction_event(prediction))


def _capture_event(capture: Observed) -> dict[str, object]:
    return {
        "event": "capture",
        "capture": capture.name,
        "setting": {**capture.setting},
        "cpus": capture.cpus,
        "interrupts": capture.interrupts,
        "duration_s": round_significant(capture.duration_s),
        "qps": round_significant(capture.requests_per_s),
        "qps_given": capture.qps is not None,
        "freq_mhz": round_significant(capture.freq_mhz),
        "delay_us": round_significant(capture.delay_us),
        "idle": {state: round_significant(share) for state, share in capture.idle_shares.items()},
        "measured": _rounded(capture.quantities),
    }


def _parameter_event(estimate: Estimate) -> dict[str, object]:
    return {
        "event": "parameter",
        "key": estimate.key,
        "before": round_significant(estimate.before),
        "after": round_significant(estimate.after),
        "sd": round_significant(estimate.sd),
        "fitted": estimate.is_fitted,
        "evidence": estimate.evidence,
    }


def _prediction_event(prediction: CapturePrediction) -> dict[str, object]:
    measured = prediction.capture.quantities
    errors = {name: 100.0 * error for name in measured if (error := prediction.error(name)) is not None}
    return {
        "event": "prediction",
        "capture": prediction.capture.name,
        "held_out": prediction.held_out,
        "measured": _rounded(measured),
        "predicted": _rounded(prediction.predicted),
        "error_pct": _rounded(errors),
    }


def _rounded(quantities: Mapping[str, float]) -> dict[str, float]:
    return {name: round_significant(value) for name, value in quantities.items()}


def print_tables(out: Path, fit: CaptureFit, sweeps: int) -> None:
    """For people."""
    table = new_table()
    for column in ("parameter", "before", "after", "error", "from"):
        table.add_column(column, justify="right" if column in ("before", "after", "error") else "left")
    changed = [each for each in fit.estimates if each.key in fit.values]
    for each in changed:
        error = "" if each.sd is None else f"± {each.sd:.2g}"
        basis = f"{'fitted' if each.is_fitted else 'assumed'}: {each.evidence}"
        table.add_row(each.key, f"{each.before:.5g}", f"{each.after:.5g}", error, basis)
    console().print(table)
    others = ", ".join(f"{each.key} {each.after:.5g}" for each in fit.estimates if each not in changed)
    console().print(f"[bold]Assumed[/bold], as in the profile: {others}")
    for title, held_out in (
        ("What the fitted profile says of the captures", False),
        ("What a fit to the other captures says of each", True),
    ):
        if some := [prediction for prediction in fit.predictions if prediction.held_out == held_out]:
            console().print(f"[bold]{title}[/bold]: predicted, and how far that is from what was measured")
            console().print(_predictions(some))
    if len(fit.predictions) == 1:
        console().print("One capture: none is left to say how wrong predictions at another setting are.")
    print_end(sweeps, complete=fit.is_complete)
    console().print(literal(f"Written: {out}"))


def _predictions(predictions: Sequence[CapturePrediction]) -> Table:
    """What was measured of no capture is not shown: of power, it would be the watts of another machine."""
    measured = {name for prediction in predictions for name in prediction.capture.quantities}
    shown = {name: how for name, how in _QUANTITIES.items() if name in measured}
    table = new_table()
    table.add_column("capture")
    table.add_column("setting")
    for head, _ in shown.values():
        table.add_column(head, justify="right")
    for prediction in predictions:
        cells = []
        for name, (_, form) in shown.items():
            error = prediction.error(name)
            off = "" if error is None else f" {error:+.1%}"
            cells.append(f"{prediction.predicted[name]:{form}}{off}")
        table.add_row(literal(prediction.capture.name), setting_text(prediction.capture), *cells)
    return table
