"""Figures for a notebook, from what a program has at hand: a study, or a search and its target.

They show themselves as the last thing of a cell; `figure.savefig("front.svg")` writes one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayop.analysis.cells import cells
from bayop.analysis.conditions import by_workload
from bayop.analysis.trade_off import trade_off_of
from bayop.errors import InputError
from bayop.objective import Objective
from bayop.relative_slo import as_slo
from bayop.report.day.search_maps import colour_bar, draw_map
from bayop.report.search_path import Point, draw_paths
from bayop.report.study.pareto import draw_pareto
from bayop.report.study.style import single
from bayop.report.study.words import workload_name
from bayop.report.style import bayop_style
from bayop.search import Result, check_measured
from bayop.slo import Slo
from bayop.space import FREQ_MHZ, RX_USECS, Knob, Setting, Space, evenly
from bayop.study.store import trusted
from bayop.target.base import Target

_COLUMNS: Final = 9
_ROWS: Final = 7
"""Of a map; the colours between its points are interpolated."""
_MARGIN: Final = 0.04
"""Of axes without a map, as a share of a knob's range."""
_BADGE: Final = 9.0
"""Size of a trial's number, in points."""


def draw_study(study: pl.DataFrame, slo: Slo | str) -> Figure:
    """Every setting of a study as a point of latency against power, with the front, the default and the best setting.

    In a closed loop it is the time of a round trip against energy, and the SLO says nothing.

    Args:
        study: Trials of one workload, as `open_study` gives them; those that are not trusted are left out.
        slo: The latency objective; as text, with its unit: `p99<500us`.

    Raises:
        InputError: it is no table, there are several workloads, or a quantity is missing.

    Example:
        >>> import polars as pl
        >>> from bayop import draw_study, open_study
        >>> study = open_study("example:memcached").filter(pl.col("qps_offered") == 600_000)
        >>> figure = draw_study(study, "p99<500us")
        >>> figure.axes[0].get_ylabel()
        'power (W)'
    """
    wanted = as_slo(slo, None)
    if not isinstance(study, pl.DataFrame):
        name = str(study) if isinstance(study, str | Path) else None
        hint = "open_study gives one" if name is None else f"open_study({name!r}) gives one"
        value = type(study).__name__ if name is None else name
        raise InputError("a study must be a table of trials to be drawn", value=value, hint=hint)
    rows = trusted(study)
    workloads = [workload_name(part.keys) for part in by_workload(rows)]
    if len(workloads) != 1:
        wrong = f"the study has several: {'; '.join(workloads)}"
        hint = 'such as study.filter(pl.col("qps_offered") == 600_000)'
        raise InputError("a figure must be of one workload", wrong=wrong, hint=hint)
    trade_off = trade_off_of(rows, wanted)
    bound = (str(wanted), wanted.limit_us) if trade_off.latency == wanted.quantity else None
    return draw_pareto(cells(rows, trade_off.quantities), trade_off, slo=bound)


@bayop_style()
def draw_search(result: Result, target: Target, slo: Slo | str, *, knobs: tuple[str, str] | None = None) -> Figure:
    """A search as a numbered path over two knobs, with a star where it ended.

    Where the target can say what it has not measured (the twin, a study), the path is on the map of its power, and what
    misses the SLO is hatched; knobs beside the two are there as in the result.

    Args:
        result: The search.
        target: What was searched.
        slo: The latency objective; as text, with its unit: `p99<500us`.
        knobs: What is drawn to the right, and upwards; without them, the interrupt delay and the frequency where there
            are both, else the first two knobs with numbers.

    Raises:
        InputError: the search has no trial, the target no such knobs, or its map nothing of what the SLO names.

    Example:
        >>> from bayop import draw_search, study_target, tune
        >>> server = study_target("example:memcached", os="linux", qps=600_000, seed=0)
        >>> result = tune(server, "p99<500us")
        >>> figure = draw_search(result, server, "p99<500us")
        >>> figure.axes[0].get_xlabel()
        'nic.rx_usecs (us)'
    """
    wanted = as_slo(slo, None)
    if not result.trials:
        raise InputError("a search must have a trial to be drawn", wrong="the search has no trial")
    pair = _pair(target.space, knobs)
    path = [_point(trial.setting, pair) for trial in result.trials]
    figure, axes = single((5.4, 3.6))
    figure.set_layout_engine("constrained", h_pad=0.1)  # room for a badge in the corner
    truth: Callable[[Setting], Mapping[str, float]] | None = getattr(target, "truth", None)
    if truth is None:
        _leave_room(axes, pair)
    else:
        check_measured(target, Objective.parse("power", wanted))
        others = result.trials[-1].setting if result.setting is None else result.setting
        x, y = (evenly(knob.numbers(), count) for knob, count in zip(pair, (_COLUMNS, _ROWS), strict=True))
        seen = [truth({**others, pair[0].id: right, pair[1].id: up}) for up, right in product(y, x)]
        power_w, latency_us = (
            np.array([window[name] for window in seen]).reshape(len(y), len(x)) for name in ("power_w", wanted.quantity)
        )
        mesh = draw_map(axes, np.array(x), np.array(y), power_w, latency_us, slo=wanted)
        colour_bar(figure, [axes], mesh)
    axes.set_xlabel(_label(pair[0]))
    axes.set_ylabel(_label(pair[1]))
    figure.draw_without_rendering()
    draw_paths(axes, [path], None if result.setting is None else _point(result.setting, pair), size=_BADGE)
    return figure


def _pair(space: Space, chosen: tuple[str, str] | None) -> tuple[Knob, Knob]:
    numeric = [knob.id for knob in space.knobs if len(knob.numbers()) > 1]
    usual = [knob_id for knob_id in (RX_USECS, FREQ_MHZ) if knob_id in numeric]
    right, *up = chosen or (usual if len(usual) == 2 else numeric[:2]) or [""]
    if not up or not {right, *up} <= set(numeric):
        wrong = f"{' and '.join(chosen)} are not" if chosen else "the target has no two such knobs"
        hint = f"the knobs with several numbers are {', '.join(numeric) or 'none'}"
        raise InputError("a search must be drawn over two knobs with several numbers", wrong=wrong, hint=hint)
    return space[right], space[up[0]]


def _point(setting: Setting, pair: tuple[Knob, Knob]) -> Point:
    x, y = (setting[knob.id] for knob in pair)
    if isinstance(x, str) or isinstance(y, str):
        raise InputError("a trial must have numbers to be drawn", value=dict(setting))
    return float(x), float(y)


def _leave_room(axes: Axes, pair: tuple[Knob, Knob]) -> None:
    ends = [(knob.numbers()[0], knob.numbers()[-1]) for knob in pair]
    (left, right), (bottom, top) = ((low - _MARGIN * (high - low), high + _MARGIN * (high - low)) for low, high in ends)
    axes.set_xlim(left, right)
    axes.set_ylim(bottom, top)


def _label(knob: Knob) -> str:
    return f"{knob.id} ({knob.unit})" if knob.unit else knob.id
