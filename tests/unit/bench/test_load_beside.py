from __future__ import annotations

from bench.load.beside import Row, table


def test_a_generator_is_compared_within_each_round() -> None:
    rows = [
        Row("http", 16, 1, "bayop", 300.0, 9.0),
        Row("http", 16, 1, "wrk", 200.0, 2.0),
        Row("http", 16, 2, "bayop", 900.0, 9.0),
        Row("http", 16, 2, "wrk", 300.0, 4.0),
    ]
    assert table(rows).splitlines()[2:] == [
        "| http | 16 | bayop | 600 | 1.00 (1.00 to 1.00) x | 9.00 us |",
        "| http | 16 | wrk | 250 | 2.25 (1.50 to 3.00) x | 3.00 us |",
    ]
