"""What a day's experiment means, in plain English, from its numbers."""

from __future__ import annotations

from bayop.control.ledger import LedgerWindow
from bayop.experiments.day.record import DayRecord, RunRecord, TrialRecord
from bayop.experiments.day.summary import Row, summarize
from bayop.slo import Slo
from bayop.space import FREQ_MHZ, RX_USECS, Setting
from bayop.units import HOUR_S, HOURS_PER_YEAR


def headline(record: DayRecord) -> str:
    """The result in one sentence."""
    rows = {row.id: row for row in summarize(record)}
    default, bayop = rows["linux-default"], rows.get("bayop-linux")
    if bayop is None:
        return f"Simulated: {default.label} used {default.energy_kwh:.2f} kWh."
    if record.objective == "latency":
        return (
            f"Simulated: BayOp on Linux brought {_latency(record)} from {default.latency_us:.0f} to "
            f"{bayop.latency_us:.0f} us on average, and used "
            f"{_percent(abs(bayop.saving))} {'less' if bayop.saving >= 0 else 'more'} energy."
        )
    change = "less" if bayop.saving >= 0 else "more"
    return (
        f"Simulated: BayOp on Linux served the same requests with {_percent(abs(bayop.saving))} {change} energy than "
        f"Linux left alone: {bayop.energy_kwh:.2f} instead of {default.energy_kwh:.2f} kWh, all trials included."
    )


def kept(record: DayRecord, row: Row) -> str:
    """How well a configuration kept the SLO."""
    if row.hours_over == 0:
        return f"It met {record.slo} all day."
    return f"It missed {record.slo} for {_minutes(row.hours_over)} of {len(record.hourly_qps)} hours, trials included."


def worth(record: DayRecord) -> str | None:
    """What the saving comes to in a year; None when nothing was saved."""
    rows = {row.id: row for row in summarize(record)}
    bayop = rows.get("bayop-linux")
    if bayop is None or bayop.saving <= 0:
        return None
    hours = len(record.hourly_qps)
    watts = (rows["linux-default"].energy_j - bayop.energy_j) / (hours * HOUR_S)
    return (
        f"That is {watts:.0f} W on average: {watts * HOURS_PER_YEAR / 1000:.0f} kWh per server and year of such days."
    )


def about_energy(record: DayRecord) -> str:
    """Why the bars differ."""
    rows = {row.id: row for row in summarize(record)}
    text = (
        "A full bar is what a configuration used over the day; what its searches cost while they tried settings is "
        "in it. A dashed bar is the bound: the best static setting of each hour, known in advance from an exhaustive "
        "sweep. "
    )
    both, single = rows.get("bayop-linux"), [rows[i] for i in ("itr-only", "frequency-only") if i in rows]
    if both is not None and single and record.objective != "latency":
        parts = " and ".join(f"{_percent(r.saving)} ({r.label.lower().replace('itr', 'ITR')})" for r in single)
        text += (
            f"One knob alone saves {parts}; both together save {_percent(both.saving)}. A longer interrupt delay "
            "batches the work and lets cores sleep; that frees the time in which a slower clock still meets the SLO."
        )
    return text


def about_power(record: DayRecord) -> str:
    """What the power curves show."""
    text = "Power follows the load. Dots are trials of 20 s, which is why a search costs next to nothing in a day. "
    if any(w.phase == "fall-back" for run in record.runs for w in run.windows):
        text += (
            "A triangle is a fall-back: a held setting missed the SLO, so BayOp went to a safe setting at once and "
            "searched again a minute later. "
        )
    if record.run("bayop-ebbrt") is not None:
        text += (
            "EbbRT runs the service to completion without context switches, needs fewer cycles a request, and so meets "
            "the SLO at a lower clock."
        )
    return text


def about_margin(record: DayRecord) -> str:
    """What the margins show."""
    limit = f"The margin is what is left to the limit of {record.slo}, in per cent of it; below the line it is missed."
    if record.objective == "latency":
        return f"{limit} Here latency alone was minimised: short delays and a fast clock, whatever they cost."
    return f"{limit} Left alone, Linux is much faster than asked for. BayOp spends that slack on saving, and no more."


def about_load(record: DayRecord) -> str:
    """Where the load comes from."""
    shape = (
        "The shape of a day in Twitter's production caches (cache-trace; Yang, Yue and Rashmi, OSDI 2020, CC-BY 4.0), "
        "a Fourier fit to the hourly means"
        if record.curve.startswith("twitter")
        else f"Hourly means of {record.curve}"
    )
    peak = max(record.hourly_qps)
    return f"{shape}, scaled to a peak of {peak / 1000:.0f}K requests/s. Within an hour the load is constant."


def about_settings(record: DayRecord) -> str:
    """What was held."""
    return (
        "What each controller held. With both knobs BayOp chooses a lower frequency than with the frequency alone, "
        "because the interrupt delay has already freed cycles; when the load rises, the frequency follows it."
        if record.objective != "latency"
        else "What each controller held."
    )


def shown(window: LedgerWindow | TrialRecord) -> str:
    """What a window or trial showed: `74.0 W, 489 us`; one that was cut short may have shown less."""
    power = [] if window.power_w is None else [f"{window.power_w:.1f} W"]
    return ", ".join([*power, "cut short" if window.latency_us is None else f"{window.latency_us:.0f} us"])


def about_first_search(record: DayRecord, run: RunRecord) -> str:
    """The first search, step by step."""
    search = run.searches[0]
    steps = "; ".join(
        f"<b>{number}</b> {_setting(t.setting)}: {shown(t)}" for number, t in enumerate(search.trials, start=1)
    )
    end = "no setting was trusted to meet the SLO" if search.setting is None else f"held {_setting(search.setting)}"
    return (
        f"Colour is the power that an exhaustive sweep measured at this hour's load; beyond the red line "
        f"{record.slo} is missed. BayOp knows none of this. It starts at the fastest setting and walks outwards "
        f"through what it believes is safe. {steps}; {end}."
    )


def about_searches(record: DayRecord, run: RunRecord) -> str:
    """All searches of a run."""
    missed = sum(not t.meets_slo for s in run.searches for t in s.trials)
    without = sum(not s.trials for s in run.searches)
    text = (
        f"{run.label}: {len(run.searches)} searches, {run.trials} trials, {missed} of which missed {record.slo}. "
        "Numbers are trials in their order, the star is what was held. What was learned at one load is the prior at "
        "the next, so later searches need few trials"
    )
    text += f"; {without} needed none." if without else "."
    auto = {k for s in run.searches for t in s.trials for k, v in t.setting.items() if v == "auto"}
    if auto:
        text += " The grey lane stands for the knob that was left to the operating system."
    return text


def about_method(record: DayRecord, version: str) -> list[str]:
    """How the numbers came about, a paragraph each."""
    slo = Slo.parse(record.slo)
    quantile = slo.quantity.removesuffix("_us")
    model = (
        f"Nothing here was measured on a live machine: the servers are digital twins ({record.server}), discrete-event "
        "models that are calibrated on published measurements. Latency is what clients see."
    )
    settings = (
        f"Objective: {record.objective}. SLO: {record.slo}. Searches start by: {record.trigger}. Seed: {record.seed}. "
        f"BayOp {version}."
    )
    words = (
        "Saving is a true reduction, 1 - E / E(Linux default). Hours over the SLO are time in windows whose "
        f"{quantile} missed it, trials included; requests over the SLO were slower than {slo.limit_us:g} us, "
        f"interpolated between latency quantiles (a {quantile} objective allows {1 - slo.quantile:.1%} of them). A "
        "trial lasts 20 s; a held setting is watched in windows of 60 s. Every modelled window is a sample, so numbers "
        "carry the noise of a measurement: a controller may beat a bound by a fraction of a per cent."
    )
    return [model, settings, words]


def _setting(setting: Setting) -> str:
    rx_usecs, freq_mhz = setting[RX_USECS], setting[FREQ_MHZ]
    delay = "automatic delay" if isinstance(rx_usecs, str) else f"{rx_usecs:g} us"
    clock = "automatic frequency" if isinstance(freq_mhz, str) else f"{freq_mhz / 1000:g} GHz"
    return f"{delay} at {clock}"


def _latency(record: DayRecord) -> str:
    return f"the {Slo.parse(record.slo).quantity.removesuffix('_us')}"


def _percent(share: float) -> str:
    return f"{share:.1%}"


def _minutes(hours: float) -> str:
    minutes = hours * 60
    return f"{minutes:.0f} minutes" if minutes >= 1.5 else f"{hours * HOUR_S:.0f} seconds"
