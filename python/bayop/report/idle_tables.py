"""What cores do over load, and what a day takes, as the cells of tables for people and for pages."""

from __future__ import annotations

from collections.abc import Sequence

from bayop.experiments.idle.record import CoreUse, Day, Total, used_states


def core_cells(uses: Sequence[CoreUse]) -> list[list[str]]:
    """The header, and a row for each load and balancer: shares of time of the first and of the last core."""
    states = used_states(uses)
    rows = [["requests/s", "balancer", "W", "operating, %", *(f"{state}, %" for state in states)]]
    for use in uses:
        shares = (use.operating, *(use.residency[state] for state in states))
        cells = (f"{100.0 * some[0]:.1f}, {100.0 * some[-1]:.1f}" for some in shares)
        rows.append([f"{use.qps / 1e3:g}K", use.balancer, f"{use.power_w:.1f}", *cells])
    return rows


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
