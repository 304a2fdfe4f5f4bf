from __future__ import annotations

from dataclasses import replace

from tests.support.claims import differences, from_lines

from bayop.papers.claims.claim import LibraryOsFinding, Verdict
from bayop.papers.claims.record import Row, to_lines


def test_rows_survive_json_and_keep_six_digits(row: Row) -> None:
    assert row.data == {"reduction_share": 0.4327}
    assert from_lines(to_lines([row, row])) == [row, row]
    counted = replace(row, library_os=LibraryOsFinding({"tuned_linux_least_x": 8.0}, Verdict.PARTLY, "windows.jsonl"))
    assert from_lines(to_lines([counted])) == [counted]
    assert differences([row], [counted]) == ["a-saving: what the library OS gives is another"]


def test_the_same_findings_do_not_differ(row: Row) -> None:
    assert differences([row], [row]) == []
    assert differences([row], [replace(row, data={"reduction_share": 0.435}, note="other words")]) == []


def test_what_has_moved_is_named(row: Row) -> None:
    moved = replace(row, verdict=Verdict.NOT, data={"reduction_share": 0.3}, twin={"peak_qps": 1.0})
    assert differences([row], [moved]) == [
        "a-saving: the verdict was as a ratio only and is not",
        "a-saving: data reduction_share was 0.4327 and is 0.3",
        "a-saving: twin peak_qps is only in one of both",
        "a-saving: twin peak_x is only in one of both",
    ]
    assert differences([row], []) == ["a-saving: only in the record"]
    assert differences([], [row]) == ["a-saving: only in the run"]
