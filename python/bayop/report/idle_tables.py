"""What cores do over load, and what a day takes, as the cells of tables for people and for pages."""

from __future__ import annotations

from collections.abc import Sequence

from bayop.experiments.idle.record import CoreUse, Day, Total, used_states
from bayop.units import format_qps


def core_cells(uses: Sequence[CoreUse]) -> list[list[str]]:
    """The header, and a row for each load and balancer: shares of time of the first and of the last core.

    What is served has a column where it is less than what is offered.
    """
    states = used_states(uses)
    says_served = any(use.overloaded for use in uses)
    head = ["requests/s", *(["served"] if says_served else []), "balancer", "W", "operating, %"]
    rows = [[*head, *(f"{state}, %" for state in states)]]
    for use in uses:
        shares = (use.operating, *(use.residency[state] for state in states))
        cells = (f"{100.0 * some[0]:.1f}, {100.0 * some[-1]:.1f}" for some in shares)
        loads = [format_qps(use.qps)]
        if says_served:
            loads.append("-" if use.qps_served is None else format_qps(use.qps_served, 4))
        rows.append([*loads, use.balancer, f"{use.power_w:.1f}", *cells])
    return rows


def overload_lines(day: Day) -> list[str]:
    """For each policy under which less was served than offered: for how long, and where it was worst."""
    lines = []
    for policy in day.policies:
        over = [window for window in day.of(policy) if window.simulated.overloaded]
        served = [(window.simulated.qps_served or 0.0, window.step.qps) for window in over]
        if served:
            least, offered = min(served, key=lambda pair: pair[0] / pair[1])
            share = day.simulated(policy).overloaded_share
            worst = f"{format_qps(least, 4)} of {format_qps(offered, 4)} requests/s were served where it was worst"
            lines.append(f"Overloaded under {policy} for {share:.1%} of the time: {worst}.")
    return lines


def day_cells(day: Day) -> list[list[str]]:
    """The header, and a row for each policy; in brackets as published."""
    quantile = day.slo.quantity.removesuffix("_us")
    rows = [["", "energy, Wh", "against menu", f"worst {quantile}, us", f"over {day.slo}"]]
    menu = day.policies[0]
    for policy in day.policies:
        cells = _total_cells(day.simulated(policy), day.simulated(menu))
        theirs, theirs_menu = day.published(policy), day.published(menu)
        if theirs is not None and theirs_menu is not None:
            beside = _total_cells(theirs, theirs_menu)
            cells = [f"{own} ({published})" for own, published in zip(cells, beside, strict=True)]
        rows.append([policy, *cells])
    return rows


def _total_cells(total: Total, menu: Total) -> list[str]:
    change = total.energy_j / menu.energy_j - 1.0
    return [
        f"{total.energy_j / 3600:.1f}",
        f"{change:+.1%}",
        f"{'>' * total.cut_short}{total.worst_us:.0f}",
        f"{total.over_share:.1%}",
    ]
