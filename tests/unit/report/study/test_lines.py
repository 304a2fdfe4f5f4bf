from __future__ import annotations

import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tests.unit.report.conftest import EBBRT, LINUX, cells_of, marked, points_of

from bayop.analysis.conditions import FREQUENCY
from bayop.report.study.lines import (
    draw_distributions,
    draw_idle,
    draw_per_request,
    has_distribution,
    idle_quantities,
    per_request_quantities,
)
from bayop.report.style import COLOURS, SLO_COLOUR


def key(figure: Figure) -> list[str]:
    """The words of a figure's key, or of its axes'."""
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes)]
    return [text.get_text() for legend in legends if legend is not None for text in legend.get_texts()]


def costs(energies_uj: list[float], *, os: str = "linux") -> pl.DataFrame:
    points = LINUX if os == "linux" else EBBRT
    return cells_of(points, os=os).with_columns(pl.Series("energy_uj_per_request", energies_uj))


class TestPerRequest:
    CELLS = pl.concat([costs([200.0, 150.0, 110.0, 90.0, 70.0]), costs([80.0, 60.0, 50.0, 40.0], os="ebbrt")])

    def test_a_line_is_the_median_over_the_frequencies_and_the_band_their_range(self) -> None:
        (axes,) = draw_per_request(self.CELLS).axes
        ebbrt, linux = (line for line in axes.lines if not line.is_dashed())
        assert points_of(linux) == [(10.0, 130.0), (200.0, 80.0)]
        assert points_of(ebbrt) == [(10.0, 70.0), (200.0, 45.0)]
        assert linux.get_color() == COLOURS["bayop-linux"]
        assert (axes.get_xlim()[0], axes.get_ylim()[0]) == (0.0, 0.0)
        bands = [band.get_paths()[0].get_extents() for band in axes.collections]
        assert [(band.y0, band.y1) for band in bands] == [(40.0, 80.0), (70.0, 150.0)]

    def test_the_default_is_a_dashed_line(self) -> None:
        figure = draw_per_request(self.CELLS)
        (default,) = [line for line in figure.axes[0].lines if line.is_dashed()]
        assert set(default.get_ydata()) == {200.0}  # type: ignore[arg-type]
        assert key(figure) == ["EbbRT", "Linux", "default"]
        assert key(draw_per_request(costs([80.0, 60.0, 50.0, 40.0], os="ebbrt"))) == ["EbbRT"]

    def test_a_panel_for_each_quantity_with_its_unit(self) -> None:
        more = self.CELLS.with_columns(instructions_per_request=pl.lit(1e5), cycles_per_request=pl.lit(2e5))
        figure = draw_per_request(more)
        titles = [axes.get_title(loc="left") for axes in figure.axes]
        assert titles == ["energy per request (uJ)", "instructions per request", "cycles per request", ""]
        assert not figure.axes[3].axison
        assert figure.get_supxlabel() == "ITR-delay (us)"

    def test_every_column_of_panels_has_its_scale(self) -> None:
        more = self.CELLS.with_columns(instructions_per_request=pl.lit(1e5), cycles_per_request=pl.lit(2e5))
        for cells, scaled in ((more, [False, True, True]), (self.CELLS, [True])):
            drawn = [axes for axes in draw_per_request(cells).axes if axes.axison]
            assert [axes.xaxis.get_tick_params()["labelbottom"] for axes in drawn] == scaled

    def test_the_frequency_may_be_left_alone(self) -> None:
        alone = costs([200.0, 150.0, 110.0, 90.0, 70.0]).drop(FREQUENCY)
        assert per_request_quantities(alone) == ["energy_uj_per_request"]
        line = draw_per_request(alone).axes[0].lines[0]
        assert points_of(line) == [(10.0, 130.0), (200.0, 80.0)]

    def test_there_is_nothing_to_show_without_counters_or_without_a_grid(self) -> None:
        assert per_request_quantities(self.CELLS) == ["energy_uj_per_request"]
        assert per_request_quantities(cells_of(LINUX)) == []
        assert per_request_quantities(self.CELLS.head(1)) == []
        misses = cells_of(LINUX).with_columns(llc_misses_per_request=pl.lit(1.0))
        assert per_request_quantities(misses) == []


class TestIdle:
    ENTRIES = cells_of(LINUX).with_columns(
        pl.Series("c1_entries_per_s", [5e4, 4e4, 2e4, 1e4, 3e4]), pl.Series("c7_entries_per_s", [0.0] * 5)
    )

    def test_what_never_happened_is_not_shown(self) -> None:
        assert idle_quantities(self.ENTRIES) == ["c1_entries_per_s"]
        assert idle_quantities(self.ENTRIES.head(1)) == []

    def test_entries_are_over_the_delay(self) -> None:
        figure = draw_idle(self.ENTRIES)
        (axes,) = figure.axes
        (entries,) = marked(axes, "o")
        assert points_of(entries) == [(10.0, 3e4), (200.0, 2e4)]
        (default,) = [line for line in axes.lines if line.is_dashed()]
        assert set(default.get_ydata()) == {5e4}  # type: ignore[arg-type]
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("ITR-delay (us)", "entries a second, all cores")
        assert (axes.get_xlim()[0], axes.get_ylim()[0]) == (0.0, 0.0)
        assert key(figure) == ["C1", "default"]

    def test_residencies_are_told_where_they_are_known(self) -> None:
        cells = self.ENTRIES.with_columns(pl.Series("residency_c6", [0.5, 0.1, 0.2, 0.3, 0.4]))
        assert idle_quantities(cells) == ["residency_c6"]
        figure = draw_idle(cells)
        assert figure.axes[0].get_ylabel() == "share of the cores' time"
        assert points_of(marked(figure.axes[0], "o")[0]) == [(10.0, pytest.approx(0.15)), (200.0, 0.35)]
        assert key(figure)[0] == "C6"

    @pytest.mark.parametrize(("rare", "scale"), [(100.0, "log"), (6000.0, "linear")])
    def test_what_spans_more_than_a_decade_is_on_a_logarithmic_axis(self, rare: float, scale: str) -> None:
        cells = self.ENTRIES.with_columns(c6_entries_per_s=pl.lit(rare))
        (axes,) = draw_idle(cells).axes
        assert axes.get_yscale() == scale


class TestDistributions:
    CELLS = cells_of([LINUX[0], LINUX[3]]).with_columns(
        p50_us=pl.Series([40.0, 200.0]), p999_us=pl.Series([150.0, None])
    )

    def curves(self, axes: Axes) -> dict[str, list[tuple[float, float]]]:
        return {str(line.get_label()): points_of(line) for line in axes.lines if len(points_of(line)) > 1}

    def test_the_axis_counts_nines(self) -> None:
        figure = draw_distributions(self.CELLS)
        (axes,) = figure.axes
        default, best = self.curves(axes)["Linux: default"], self.curves(axes)["Linux: 200 us, 2 GHz"]
        assert [x for x, _ in default] == [40.0, 100.0, 150.0]
        assert [y for _, y in default] == pytest.approx([0.30103, 2.0, 3.0], abs=1e-5)
        assert [x for x, _ in best] == [200.0, 300.0]
        assert [t.get_text() for t in axes.get_yticklabels()] == ["50 %", "99 %", "99.9 %"]
        assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_xscale()) == (
            "latency (us)", "requests no slower", "log",
        )  # fmt: skip

    def test_the_default_is_dashed_and_has_stars(self) -> None:
        figure = draw_distributions(self.CELLS)
        (default,) = marked(figure.axes[0], "*")
        assert default.get_label() == "Linux: default"
        assert default.is_dashed()
        (best,) = marked(figure.axes[0], "o")
        assert not best.is_dashed()
        assert key(figure) == ["Linux: default", "Linux: 200 us, 2 GHz"]

    def test_the_slo_is_a_cross_that_is_in_the_picture(self) -> None:
        (axes,) = draw_distributions(self.CELLS, slo=("p99<500us", 0.99, 500.0)).axes
        (cross,) = marked(axes, "P")
        assert points_of(cross) == [(500.0, pytest.approx(2.0))]
        assert cross.get_color() == SLO_COLOUR
        assert [text.get_text() for text in axes.texts] == ["SLO p99<500us"]
        assert axes.get_xlim()[1] >= 1100.0

    def test_a_system_is_told_from_those_that_are_not_drawn(self) -> None:
        among = [{"os": "linux", "machine": machine} for machine in ("box", "box2")]
        alone = self.CELLS.with_columns(machine=pl.lit("box"))
        assert key(draw_distributions(alone, among=among)) == ["box: default", "box: 200 us, 2 GHz"]

    def test_a_curve_has_three_points_or_more(self) -> None:
        assert has_distribution(self.CELLS)
        assert not has_distribution(self.CELLS.drop("p50_us"))
