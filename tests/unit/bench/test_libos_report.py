from __future__ import annotations

from pathlib import Path

import pytest
from bench.libos.costs import costs
from bench.libos.count import Window
from bench.libos.delays import Row
from bench.libos.figures import delay_drawings, drawings
from bench.libos.page import read_windows
from bench.libos.report import WINDOWS, headline, write_report
from bench.rows import read_rows

from bayop.errors import InputError
from bayop.report.svg import Drawing

RESULTS = Path("bench/libos/results")


def window(
    system: str, connections: int, instructions: float, *, qps: float = 1000.0, app: str = "memcached"
) -> Window:
    layers = {"tcp": 0.75 * instructions, "rest": 0.25 * instructions} if system == "libos" else {}
    return Window(app, system, connections, qps, 3000, instructions, 1.0, 0.5, layers)


COUNTED = (
    *(window("libos", number, 3000.0 + number) for number in (1, 64)),
    *(window("linux-tuned", number, 27_000.0) for number in (1, 64)),
    window("linux", 64, 45_000.0),
    window("libos", 64, 2500.0, qps=4000.0),
    window("linux-tuned", 64, 20_000.0, qps=4000.0),
    window("libos", 1, 40_000.0, app="tpcc"),
)


def test_a_report_has_its_figures_its_numbers_and_its_windows(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "report"
    page = write_report(COUNTED, folder, "0.1.0").read_text(encoding="utf-8")
    for name in ("libos-instructions", "libos-loads", "libos-layers"):
        assert (folder / f"{name}.svg").is_file()
        assert (folder / f"{name}.png").is_file()
        assert page.count(f'id="{name}-') > 0
    assert "tuned Linux takes 8.0 to 9.0 times the instructions" in page
    assert "Instructions by layer" in page
    assert read_windows(folder / WINDOWS) == list(COUNTED)


def test_a_row_alone_is_a_report_without_lines(tmp_path: Path) -> None:
    page = write_report([window("linux-tuned", 1, 27_000.0)], tmp_path, "0.1.0").read_text(encoding="utf-8")
    assert "<svg" not in page
    assert "27,000" in page
    assert "Instructions by layer" not in page


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError):
        write_report(COUNTED, tmp_path / "file", "0.1.0")


def lines_of(drawing: Drawing) -> dict[str, list[float]]:
    """Where the lines of a figure's first panel have points, by their names."""
    bars = drawing.figure.axes[0].containers
    return {str(each.get_label()): list(each.lines[0].get_xdata()) for each in bars}  # type: ignore[attr-defined]


def test_lines_are_of_what_differs_in_nothing_else() -> None:
    instructions, loads, layers = drawings(costs(COUNTED))
    assert [axes.get_title("left") for axes in instructions.figure.axes] == ["memcached, a request"]
    assert lines_of(instructions) == {"Linux, tuned": [1, 64], "library OS": [1, 64]}
    assert lines_of(loads) == {"Linux, tuned": [1000.0, 4000.0], "library OS": [1000.0, 4000.0]}
    titles = [axes.get_title("left") for axes in layers.figure.axes]
    assert titles == ["memcached, a request", "TPC-C, a transaction"]


def test_a_bar_is_as_long_as_its_layers() -> None:
    (drawing,) = drawings(costs([window("libos", 1, 4000.0)]))
    bars = drawing.figure.axes[0].patches
    assert sum(bar.get_width() for bar in bars) == 4.0  # type: ignore[attr-defined]


def test_factors_are_of_loads_that_both_served() -> None:
    assert headline(costs([window("libos", 1, 1000.0), window("linux-tuned", 2, 9000.0)])).startswith("Instructions")
    both = [window("libos", 1, 1000.0), window("linux-tuned", 1, 9000.0)]
    assert headline(costs(both)) == "memcached: tuned Linux takes 9.0 times the instructions of the library OS."


def test_the_delays_and_the_waits_that_were_counted_are_drawn() -> None:
    rows = read_rows(max(RESULTS.glob("*/raw.csv")), Row)
    delays, waits = delay_drawings(rows)
    assert [len(line.get_xdata()) for line in delays.figure.axes[0].lines] == [7, 7, 7, 7]  # type: ignore[arg-type]
    assert [line.get_label() for line in waits.figure.axes[0].lines] == ["interrupt", "poll", "adaptive"]
