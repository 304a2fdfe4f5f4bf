from __future__ import annotations

from dataclasses import replace

import numpy as np

from bayop.experiments.generality.record import Outcome
from bayop.report.generality import drawing
from bayop.report.style import bayop_style

OUTCOME = Outcome(
    service="xapian",
    machine="epyc-ena",
    slo="p99<10ms",
    peak_qps=1000.0,
    load_share=0.4,
    qps=400.0,
    seed=0,
    trial_s=20.0,
    trials=5,
    stopped="converged",
    setting=None,
    default_power_w=100.0,
    default_latency_us=4000.0,
    default_utilization=0.4,
    power_w=80.0,
    latency_us=9000.0,
    utilization=0.5,
    saving=0.2,
    saving_ci=0.01,
    meets_slo=True,
)


def test_every_case_is_a_row_and_a_broken_slo_a_hollow_mark() -> None:
    outcomes = [
        OUTCOME,
        replace(OUTCOME, load_share=0.8, saving=0.05, meets_slo=False),
        replace(OUTCOME, machine="xeon-e5-2690", seed=1),
        replace(OUTCOME, service="sphinx"),
    ]
    with bayop_style():
        figure = drawing(outcomes).figure
        figure.draw_without_rendering()
    (axes,) = figure.axes
    rows = ["xapian", "epyc-ena", "xeon-e5-2690", "sphinx", "epyc-ena", "xeon-e5-2690"]
    assert [label.get_text() for label in axes.get_yticklabels()] == rows
    assert "%" in axes.get_xlabel()
    marks = [line for line in axes.lines if line.get_marker() in {"o", "s"}]
    assert sorted(float(np.asarray(line.get_xdata())[0]) for line in marks) == [5.0, 20.0, 20.0, 20.0]
    assert sum(line.get_markerfacecolor() == "none" for line in marks) == 1
