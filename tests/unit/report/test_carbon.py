from __future__ import annotations

from itertools import pairwise

import pytest
from matplotlib.figure import Figure
from tests.unit.report.conftest import points_of, words

from bayop.carbon.compare import Comparison, compare
from bayop.carbon.files import Entry
from bayop.carbon.grid import Grid
from bayop.carbon.stack import Stack
from bayop.report.carbon import draw_months, draw_sources
from bayop.report.style import bayop_style


@pytest.fixture
def comparisons() -> list[Comparison]:
    """A new machine, and a reused one that draws more."""
    new = Stack("linux on node3", "memcached", {"cpu": 50.0}, False, 200.0, 1e6, 5e9, 2.7e-6)  # noqa: FBT003
    old = Stack("ebbrt on node1", "memcached", {"cpu": 40.0}, True, 150.0, 5e5)  # noqa: FBT003
    return compare([Entry(new), Entry(old)], lambda _: Grid((100.0,)), 4.0)


def drawn_sources(comparisons: list[Comparison]) -> Figure:
    with bayop_style():
        return draw_sources(comparisons)


def test_bars_are_milligrams_a_million_requests_stacked_by_source(comparisons: list[Comparison]) -> None:
    whole, server = drawn_sources(comparisons).axes
    found = [comparison.intensity for comparison in comparisons]
    for axes, sources in ((whole, 3), (server, 2)):
        assert [c.get_label() for c in axes.containers] == ["embodied", "operational", "network"][:sources]
        bars = [list(container) for container in axes.containers]
        for stack, intensity in enumerate(found):
            parts = [intensity.embodied_mg, intensity.operational_mg, intensity.network_mg][:sources]
            assert [c[stack].get_width() for c in bars] == pytest.approx([1e6 * part for part in parts])
            ends = [0.0, *(1e6 * sum(parts[: i + 1]) for i in range(sources))]
            assert [c[stack].get_x() for c in bars] == pytest.approx(ends[:-1])
    assert found[1].embodied_mg == 0.0 < found[0].embodied_mg


def test_stacks_are_named_from_the_top_and_the_axis_has_its_unit(comparisons: list[Comparison]) -> None:
    figure = drawn_sources(comparisons)
    whole, server = figure.axes
    assert [t.get_text() for t in whole.get_yticklabels()] == ["memcached\nlinux on node3", "memcached\nebbrt on node1"]
    assert whole.yaxis_inverted()
    assert (whole.get_title(), server.get_title()) == ("all", "the server's part")
    assert figure.get_supxlabel() == "mg CO2e / million requests"
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["embodied", "operational", "network"]


def test_a_curve_falls_while_a_machine_works_off_its_making(comparisons: list[Comparison]) -> None:
    with bayop_style():
        figure = draw_months(comparisons, 4.0)
    whole, server = figure.axes
    new, old = ([y for _, y in points_of(line)] for line in whole.lines)
    assert len(new) == 48
    assert list(whole.lines[0].get_xdata()) == list(range(1, 49))  # type: ignore[arg-type]
    assert all(a > b for a, b in pairwise(new))
    assert old == pytest.approx([old[0]] * 48), "there is nothing to work off"
    assert new[-1] == pytest.approx(1e6 * comparisons[0].intensity.total_mg)
    assert server.lines[0].get_ydata()[-1] == pytest.approx(1e6 * comparisons[0].intensity.without_network_mg)  # type: ignore[index]
    assert (whole.get_ylim()[0], server.get_ylim()[0]) == (0.0, 0.0)


def test_curves_are_named_where_they_end_and_differ_in_their_dashes(comparisons: list[Comparison]) -> None:
    with bayop_style():
        figure = draw_months(comparisons, 1.0)
    assert {"linux on node3", "ebbrt on node1", "months in use", "mg CO2e /\nmillion requests"} <= words(figure)
    whole, _ = figure.axes
    assert len({(line.get_color(), str(line.get_linestyle())) for line in whole.lines}) == 2
    assert whole.get_xlim() == (1.0, 12.0)


def test_the_shortest_life_is_a_line_too(comparisons: list[Comparison]) -> None:
    with bayop_style():
        figure = draw_months(comparisons, 0.01)
    assert list(figure.axes[0].lines[0].get_xdata()) == [1, 2]  # type: ignore[arg-type]
    assert figure.axes[0].get_xlim() == (1.0, 2.0)
