"""The picture at the top of the README: a search on measurements of a real server, and what it saves."""

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayop.recorded.rows import study_target
from bayop.recorded.target import StudyTarget
from bayop.report.day.search_maps import colour_bar, draw_map
from bayop.report.search_path import draw_paths
from bayop.report.style import COLOURS, SLO_COLOUR, bayop_style
from bayop.report.svg import Drawing
from bayop.search import Result, tune
from bayop.slo import Slo
from bayop.space import FREQ_MHZ, RX_USECS, Setting

LOAD_QPS: Final = 600_000.0
SLO: Final = Slo.parse("p99<500us")
SEED: Final = 0
COMMAND: Final = "bayop tune --target study --data example:memcached --load 600k --slo 'p99<500us'"


def search() -> tuple[StudyTarget, Result]:
    """What `COMMAND` searches, and how."""
    target = study_target("example:memcached", os="linux", qps=LOAD_QPS, seed=SEED)
    return target, tune(target, SLO, seed=SEED)


def drawing() -> Drawing:
    """What `COMMAND` finds, over what the study measured."""
    return Drawing(
        "overview",
        "BayOp finds the interrupt delay and the CPU frequency that meet the SLO for the least power",
        "A map of power over interrupt delay and frequency with the path of a search, and bars of power and latency.",
        "",
        draw(*search()),
    )


@bayop_style()
def draw(target: StudyTarget, result: Result) -> Figure:
    """The map with the path on the left; power and latency, before and after, on the right."""
    baseline = target.baseline()
    if result.setting is None or baseline is None:
        raise ValueError("the example has a default, and a setting that meets the SLO")
    before, after = baseline.quantities, target.truth(result.setting)
    figure = Figure(figsize=(8.6, 4.0), layout="constrained")
    saving = 1.0 - after["power_w"] / before["power_w"]
    figure.suptitle(
        f"{saving:.0%} less power after {len(result.trials)} trials, at a p99 under {SLO.limit_us:g} us",
        fontsize=12.5, fontweight="bold", x=0.012, ha="left",
    )  # fmt: skip
    figure.supxlabel(
        f"memcached at {LOAD_QPS:,.0f} requests/s on two Xeon E5-2690, measured and published by Dong et al., "
        "interpolated. Numbers are trials, the star is what BayOp holds.",
        fontsize=7.5, x=0.012, ha="left",
    )  # fmt: skip
    grid = figure.add_gridspec(2, 2, width_ratios=(5.2, 2.6))
    map_, power, latency = (figure.add_subplot(grid[place]) for place in ((slice(None), 0), (0, 1), (1, 1)))
    _draw_map(map_, target)
    _draw_bars(power, before["power_w"], after["power_w"], "power (W)")
    _draw_bars(latency, before["p99_us"], after["p99_us"], "p99 latency (us)")
    latency.axvline(SLO.limit_us, color=SLO_COLOUR, linewidth=1.4, linestyle=(0, (5, 2)))
    latency.set_title("SLO", loc="right", fontsize=9, fontweight="bold", color=SLO_COLOUR)
    figure.draw_without_rendering()
    draw_paths(map_, [[_place(trial.setting) for trial in result.trials]], _place(result.setting), size=11.0)
    return figure


def _draw_map(axes: Axes, target: StudyTarget) -> None:
    delays, freqs = (target.space[knob].numbers() for knob in (RX_USECS, FREQ_MHZ))
    x, y = np.linspace(delays[0], delays[-1], 120), np.linspace(freqs[0], freqs[-1], 120)
    truth = [[target.truth({RX_USECS: delay, FREQ_MHZ: freq}) for delay in x] for freq in y]
    power, latency = (np.array([[cell[q] for cell in row] for row in truth]) for q in ("power_w", "p99_us"))
    mesh = draw_map(axes, x, y / 1000.0, power, latency, slo=SLO)
    axes.text(
        0.5 * (x[0] + x[-1]), 1.4, f" p99 over {SLO.limit_us:g} us ", color="white", fontweight="bold", ha="center",
        va="center", bbox={"facecolor": mesh.get_cmap()(0.08), "edgecolor": "none", "boxstyle": "square,pad=0.15"},
    )  # fmt: skip
    axes.set_xlabel("interrupt delay, nic.rx_usecs (us)")
    axes.set_ylabel("CPU frequency, cpu.freq_mhz (GHz)")
    colour_bar(axes.figure, [axes], mesh)


def _draw_bars(axes: Axes, before: float, after: float, label: str) -> None:
    axes.barh([0, 1], [before, after], height=0.66, color=[COLOURS["linux-default"], COLOURS["bayop-linux"]])
    for y, value in enumerate((before, after)):
        axes.annotate(
            f"{value:.0f}", (value, y), xytext=(-5, 0), textcoords="offset points", ha="right", va="center",
            color="black", fontweight="bold",
        )  # fmt: skip
    axes.set_yticks([0, 1], ["Linux default", "BayOp"])
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_title(label, loc="left")


def _place(setting: Setting) -> tuple[float, float]:
    return float(setting[RX_USECS]), float(setting[FREQ_MHZ]) / 1000.0
