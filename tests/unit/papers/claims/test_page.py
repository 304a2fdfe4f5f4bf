from __future__ import annotations

from dataclasses import replace

from bayop.papers.claims.claim import LibraryOsFinding, Verdict
from bayop.papers.claims.page import render_page, say_numbers
from bayop.papers.claims.record import Row


def test_numbers_are_said_in_their_units() -> None:
    numbers = {"as_ratio_share": 0.7628, "peak_x": 1.75, "power_w": 73.64, "p99_us": 488.7, "count": 12.0}
    assert say_numbers(numbers) == "as ratio 76.3 %, peak 1.75 x, power 73.6 W, p99 489 us, count 12"
    assert say_numbers({}) == ""


def test_the_page_counts_verdicts_and_names_what_is_behind(row: Row) -> None:
    page = render_page([row])
    assert "Verdicts: 1 as a ratio only." in page
    assert (
        "| Something saves (abstract) | 76 % less | reduction 43.3 % | peak 1.75 x |  | **as a ratio only**. why |"
        in page
    )
    assert "- `a-saving`: `bayop claims --only a-saving`, figure `savings`\n" in page


def test_verdicts_are_counted_from_the_best_to_the_worst(row: Row) -> None:
    page = render_page([replace(row, verdict=v) for v in (Verdict.NOT, Verdict.REPRODUCED, Verdict.NOT)])
    assert "Verdicts: 1 reproduced, 2 not." in page


def test_each_paper_that_claims_something_has_a_section(row: Row) -> None:
    page = render_page([replace(row, id="y", paper="Y", figure=None), row])
    sections = [line for line in page.splitlines() if line.startswith("## ")]
    assert [section[:6] for section in sections] == ["## [D]", "## [Y]"]
    assert page.index("`a-saving`:") < page.index("## [Y]") < page.index("`y`:")
    assert "- `y`: `bayop claims --only a-saving`\n" in page, "no figure is none to name"


def test_the_library_os_has_a_verdict_and_a_source_of_its_own(row: Row) -> None:
    found = LibraryOsFinding({"tuned_linux_least_x": 7.5}, Verdict.REPRODUCED, "windows.jsonl")
    page = render_page([replace(row, library_os=found)])
    assert "| peak 1.75 x | tuned linux least 7.50 x: reproduced | **as a ratio only**. why |" in page
    assert "- `a-saving`: `bayop claims --only a-saving`, figure `savings`; library OS: `windows.jsonl`\n" in page
