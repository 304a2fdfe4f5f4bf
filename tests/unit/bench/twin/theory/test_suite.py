from __future__ import annotations

from bench.twin.theory.law import Row
from bench.twin.theory.suite import table


def test_a_row_of_the_table_says_whether_it_holds() -> None:
    rows = [
        Row("M/M/1", "mean, us", "3333.3", 3337.02, 0.112, 0.562, holds=True),
        Row("polling", "power, W", "74", 74.0066, 0.0089, None, holds=False),
        Row("polling", "utilization", "1", 1.0, 1e-12, None, holds=True),
    ]
    assert table(rows).splitlines()[2:] == [
        "| M/M/1 | mean, us | 3333.3 | 3337 | +0.11 | 0.56 | yes |",
        "| polling | power, W | 74 | 74.007 | +0.01 | - | **no** |",
        "| polling | utilization | 1 | 1 | 0 | - | yes |",
    ]
