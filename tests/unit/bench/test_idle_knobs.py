"""The table on idle knobs says what the committed rows say."""

from __future__ import annotations

from pathlib import Path

from bench.idle_knobs import page
from bench.idle_knobs.run import KNOBS, Row, line
from bench.rows import read_rows

ROWS = read_rows(max(Path("bench/idle_knobs/results").glob("*/rows.csv")), Row)


def test_the_table_of_the_page_follows_from_the_rows() -> None:
    assert f"<!-- idle knobs -->\n{page.table(ROWS)}\n<!-- end -->" in page.PAGE.read_text(encoding="utf-8")


def test_what_more_knobs_may_set_is_never_dearer() -> None:
    at = {(row.qps, row.limit_us, row.knobs): row for row in ROWS}
    first, *_, both = KNOBS
    for (qps, limit_us, knobs), row in at.items():
        alone, most = at[qps, limit_us, first], at[qps, limit_us, both]
        if row.power_w is None:
            assert knobs == first or alone.power_w is None, line(row)
            continue
        assert row.p99_us is not None
        assert row.p99_us < limit_us
        # Within what seeds scatter: the grid is ordered by one seed, and shown are others.
        assert alone.power_w is None or row.power_w < alone.power_w + 0.1, line(row)
        assert most.power_w is not None
        assert most.power_w < row.power_w + 0.1, line(row)
