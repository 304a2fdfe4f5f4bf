from __future__ import annotations

from dataclasses import replace

from bayop.claims.claim import Claim, Finding, Verdict
from bayop.claims.page import render_page, say_numbers
from bayop.claims.record import Row, differences, from_lines, to_lines

CLAIM = Claim(
    id="a-saving",
    paper="D",
    place="abstract",
    statement="Something saves",
    printed="76 % less",
    command="bayop claims --only a-saving",
    figure="savings",
    examine=lambda _: Finding(Verdict.NOT_TESTABLE, "nobody measured it"),
)
ROW = Row.of(CLAIM, Finding(Verdict.AS_RATIO, "why", {"reduction_share": 0.43267}, {"peak_x": 1.75}))


def test_rows_survive_json_and_keep_four_digits() -> None:
    assert ROW.data == {"reduction_share": 0.4327}
    assert from_lines(to_lines([ROW, ROW])) == [ROW, ROW]


def test_the_same_findings_do_not_differ() -> None:
    assert differences([ROW], [ROW]) == []
    assert differences([ROW], [replace(ROW, data={"reduction_share": 0.435}, note="other words")]) == []


def test_what_has_moved_is_named() -> None:
    moved = replace(ROW, verdict=Verdict.NOT, data={"reduction_share": 0.3}, twin={"peak_qps": 1.0})
    assert differences([ROW], [moved]) == [
        "a-saving: the verdict was as a ratio only and is not",
        "a-saving: data reduction_share was 0.4327 and is 0.3",
        "a-saving: twin peak_qps is only in one of both",
        "a-saving: twin peak_x is only in one of both",
    ]
    assert differences([ROW], []) == ["a-saving: only in the record"]
    assert differences([], [ROW]) == ["a-saving: only in the run"]


def test_numbers_are_said_in_their_units() -> None:
    numbers = {"as_ratio_share": 0.7628, "peak_x": 1.75, "power_w": 73.64, "count": 12.0}
    assert say_numbers(numbers) == "as ratio 76.3 %, peak 1.75 x, power 73.6 W, count 12"


def test_the_page_counts_verdicts_and_names_what_is_behind() -> None:
    page = render_page([ROW])
    assert "Verdicts: 1 as a ratio only." in page
    assert (
        "| Something saves (abstract) | 76 % less | reduction 43.3 % | peak 1.75 x | **as a ratio only**. why |" in page
    )
    assert "- `a-saving`: `bayop claims --only a-saving`, figure `savings`" in page
