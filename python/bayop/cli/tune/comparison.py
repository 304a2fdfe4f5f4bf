"""What the winner of a search beside the default says, for people."""

from __future__ import annotations

from bayop.confirm import DEFAULT, FOUND, Comparison
from bayop.measurement import Measurement
from bayop.optimize.base import Problem
from bayop.slo import QPS, Quantities, Slo
from bayop.units import HOURS_PER_YEAR


def sentence(comparison: Comparison, problem: Problem, watts: str) -> str:
    """What the comparison says of the setting, for people."""
    saving = comparison.saving
    if saving is None:
        return "No pair of windows was whole, so that nobody knows what it saves."
    found, default = (_shown(comparison.medians[n], problem.slo) for n in (FOUND, DEFAULT))
    named, named_default = (", ".join(f"{n} {v}" for n, v in shown.items()) for shown in (found, default))
    if comparison.verdict == "breaks":
        return f"It breaks {problem.slo} when measured again: {named} ({saving.pairs} pairs)."
    is_power = problem.objective.name == "power"
    text = saving.describe(unit=watts) if is_power else saving.describe(of=f" of {problem.objective.name}")
    if comparison.verdict == "meets":
        kept = ", ".join(found.values())
        return f"The default breaks {problem.slo} ({named_default}), this setting meets it ({kept}). It {text}."
    if comparison.verdict == "not significant":
        return f"No significant saving: it {text}, over {saving.pairs} pairs."
    kwh = f": {saving.value * HOURS_PER_YEAR / 1000:.0f} kWh per server and year at this load"
    more = kwh if is_power else ""
    after = ", ".join(f"{name} {value} after {default[name]}" for name, value in found.items())
    return f"It {text}{more}. {after}, {saving.pairs} pairs."


def describe_window(measurement: Measurement, problem: Problem, watts: str) -> str:
    """One of the windows that were compared."""
    if measurement.cut_short is not None:
        return f"cut short: {measurement.cut_short}"
    return ", ".join([f"{measurement['power_w']:.1f} {watts}", *_shown(measurement, problem.slo).values()])


def _shown(medians: Quantities, slo: Slo) -> dict[str, str]:
    """What the SLO names, for people: `{"p99": "412 us"}`."""
    return {
        name.removesuffix("_us"): f"{medians[name]:.0f} {'qps' if name == QPS else 'us'}" for name in slo.quantities
    }
