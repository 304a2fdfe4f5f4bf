"""How people watch the winner of a search beside the default, and what that says."""

from __future__ import annotations

from bayop.cli.terminal.output import console as make_console
from bayop.cli.terminal.output import progress
from bayop.confirm import DEFAULT, FOUND, Comparison, Round, confirm
from bayop.measurement import Measurement
from bayop.optimize.base import Problem
from bayop.saving import Looks
from bayop.slo import QPS, Quantities, Slo
from bayop.space import Setting
from bayop.target.base import Target
from bayop.units import HOURS_PER_YEAR


def show_comparison(
    target: Target, setting: Setting, looks: Looks, *, problem: Problem, seed: int, watts: str
) -> Comparison:
    """The comparison, with a progress bar on a terminal, and a line for every pair elsewhere."""
    console = make_console()
    console.print("Measuring the default and the result again, in turns:")
    with progress("pairs, at most", looks.most_pairs) as bar:

        def on_round(number: int, pair: Round) -> None:
            bar.advance()
            if not console.is_terminal:
                console.print(
                    f"pair {number}: " + "; ".join(f"{n} {_window(m, problem, watts)}" for n, m in pair.items())
                )

        return confirm(target, setting, problem, looks, seed=seed, on_round=on_round)


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


def _shown(medians: Quantities, slo: Slo) -> dict[str, str]:
    """What the SLO names, for people: `{"p99": "412 us"}`."""
    return {
        name.removesuffix("_us"): f"{medians[name]:.0f} {'qps' if name == QPS else 'us'}" for name in slo.quantities
    }


def _window(measurement: Measurement, problem: Problem, watts: str) -> str:
    if measurement.cut_short is not None:
        return f"cut short: {measurement.cut_short}"
    return ", ".join([f"{measurement['power_w']:.1f} {watts}", *_shown(measurement, problem.slo).values()])
