"""What the generality experiment has measured, as data, and what [D] reports of the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bayop.space import Setting

TAILBENCH: Final = ("img-dnn", "xapian", "sphinx")
"""The services of Tailbench, of which [D] says that it saves `PUBLISHED`."""

PUBLISHED: Final = (0.05, 0.36)
"""Least and greatest saving that [D] section 4.3 reports for Tailbench."""

LOAD_SHARES: Final = (0.4, 0.8)
"""Loads of the experiment as shares of the peak ([D] section 4.3)."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One search against the default policy, at one load of one case.

    Attributes:
        peak_qps: The greatest load at which the default policy meets the SLO.
        load_share: Share of it that is offered, which is `qps`.
        trial_s: Length of a trial's window.
        setting: What the search held; None when it trusted nothing, and the default stays.
        saving: True reduction of power: 1 - held / default; 0 without a setting.
        saving_ci: Half of its 95 % confidence interval.
        latency_us: True latency at the SLO's quantile with what is held.
        meets_slo: Whether that meets the SLO.
    """

    service: str
    machine: str
    slo: str
    peak_qps: float
    load_share: float
    qps: float
    seed: int
    trial_s: float
    trials: int
    stopped: str
    setting: Setting | None
    default_power_w: float
    default_latency_us: float
    default_utilization: float
    power_w: float
    latency_us: float
    utilization: float
    saving: float
    saving_ci: float
    meets_slo: bool
