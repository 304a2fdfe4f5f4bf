"""`bayop demo` from the command line to the report, on the compiled twin."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import pytest

from bayop.experiments.day.record import read_day
from bayop.experiments.day.summary import summarize
from bayop.report.day.page import table_cells

pytestmark = pytest.mark.timeout(300)

HOURS = 3
VOID = {"meta", "br", "hr", "img", "input", "link"}


def demo(*flags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "import sys; from bayop.cli import main; sys.exit(main())", "demo", *flags]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], Path]:
    out = tmp_path_factory.mktemp("demo") / "out"
    return demo("--with-ebbrt", "--hours", str(HOURS), "--seed", "2", "--out", str(out)), out


@dataclass
class Page(HTMLParser):
    """Checks that tags are closed in order, and collects what the page loads and shows."""

    open: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    cells: dict[str, list[str]] = field(default_factory=dict)
    run: str | None = None

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.loads += [v for k, v in attrs if k in {"src", "href", "xlink:href", "srcset", "action"} and v]
        if attributes.get("id"):
            self.ids.append(str(attributes["id"]))
        if tag == "tr":
            self.run = attributes.get("data-run")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["td"] and self.run:
            self.cells.setdefault(self.run, []).append(data)
        if self.open[-2:] == ["svg", "title"]:
            self.titles.append(data)


@pytest.fixture(scope="module")
def page(outcome: tuple[subprocess.CompletedProcess[str], Path]) -> Page:
    page = Page()
    page.feed((outcome[1] / "report.html").read_text(encoding="utf-8"))
    page.close()
    return page


def test_it_ends_well_and_says_what_was_saved(outcome: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    result, out = outcome
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert "BayOp on Linux served the same requests with" in result.stdout
    assert "report.html" in result.stdout
    assert (out / "report.html").exists()


def test_the_page_is_well_formed_and_loads_nothing(page: Page) -> None:
    assert page.open == []
    assert all(load.startswith(("#", "data:image/png;base64,")) for load in page.loads)
    assert len(page.ids) == len(set(page.ids))


def test_the_style_loads_nothing(outcome: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    text = (outcome[1] / "report.html").read_text(encoding="utf-8")
    assert "@import" not in text
    assert "<script" not in text
    assert "url(http" not in text.replace('"', "").replace("'", "")


def test_the_page_has_every_figure(page: Page, outcome: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    files = {p.stem for p in outcome[1].glob("*.svg")}
    assert len(page.titles) == len(files)
    assert all(f"{name}-title" in page.ids for name in files)
    assert {
        "Simulated power over the day", "Margin to the SLO over the simulated day", "Load over the simulated day",
        "Simulated searches of BayOp on Linux",
    } <= set(page.titles)  # fmt: skip


def test_the_table_has_the_numbers_of_the_data(
    page: Page, outcome: tuple[subprocess.CompletedProcess[str], Path]
) -> None:
    record = read_day(outcome[1] / "data.json")
    kinds = {run.id: run.kind for run in record.runs}
    assert len(record.hourly_qps) == HOURS
    assert len(record.runs) == 7
    for row in summarize(record):
        assert page.cells[row.id] == [cell for cell in table_cells(row, kinds[row.id]) if cell]


def test_bayop_saves_energy_and_keeps_the_slo(outcome: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    rows = {row.id: row for row in summarize(read_day(outcome[1] / "data.json"))}
    assert rows["bayop-linux"].saving > max(rows["itr-only"].saving, rows["frequency-only"].saving) > 0.05
    assert rows["bayop-ebbrt"].saving > rows["bayop-linux"].saving
    assert rows["bayop-linux"].hours_over < 0.1 * HOURS


def test_programs_get_json_lines_and_nothing_else(tmp_path: Path, data: Path) -> None:
    trace = data / "trace_twitter_cluster2_hourly.csv"
    result = demo(
        "--hours", "1", "--app", "silo", "--objective", "latency", "--trigger", "load,breach", "--json",
        "--load-curve", str(trace), "--out", str(tmp_path),
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    events = [json.loads(line) for line in result.stdout.splitlines()]
    assert [e["event"] for e in events] == ["start", *["run"] * 5, "result"]
    assert events[0]["hourly_qps"] == [250_000]
    assert Path(events[-1]["report"]).exists()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--hours", "0"), "--hours"),
        (("--trigger", "never"), "--trigger"),
        (("--load-curve", "nowhere.csv"), "--load-curve"),
        (("--slo", "p99<500"), "--slo"),
        (("--objective", "power_w +"), "objective, column 10"),
        (("--app", "nginx"), "--app"),
        (("--seed", "-1"), "--seed"),
    ],
)
def test_bad_input_is_one_clear_message(flags: tuple[str, ...], message: str, tmp_path: Path) -> None:
    result = demo(*flags, "--out", str(tmp_path / "none"))
    assert result.returncode == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "none").exists()


def test_a_report_that_can_not_be_written_is_said_before_the_day_is_played(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    result = demo("--out", str(tmp_path / "file"))
    assert result.returncode == 2
    assert "cannot write" in result.stderr
    assert result.stdout == ""
