from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from bench.applications.run import LOADS_QPS, Row, main, table

from bayop.applications.definition import application_names

ROW = Row(
    app="nginx", qps=4000, default_p99_us=500.0, slo_us=1000.0, held="gro_flush_timeout_us=400", trials=7, p99_us=700.0,
    default_again_p99_us=510.0, cpu_us=40.0, cpu_saving=0.2, cpu_saving_low=0.1, cpu_saving_high=0.3, pairs=9,
    stolen=0.001, duration_s=90.0,
)  # fmt: skip


def test_every_application_has_its_load_but_one_that_takes_hours() -> None:
    assert sorted({*LOADS_QPS, "sphinx"}) == list(application_names())


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "saves"),
        ({"cpu_saving_low": -0.1}, "no significant saving"),
        ({"cpu_saving_low": -0.3, "cpu_saving_high": -0.1}, "costs"),
        ({"p99_us": 1001.0}, "over the SLO"),
        ({"cpu_saving": None}, "nothing held"),
        ({"cpu_saving_low": None}, "nothing held"),
    ],
)
def test_what_is_said_of_a_saving(changes: dict[str, Any], verdict: str) -> None:
    row = replace(ROW, **changes)
    assert row.verdict == verdict
    assert verdict in table([row])


def test_a_row_of_the_table_has_the_saving_with_its_interval() -> None:
    *_, row = table([ROW]).splitlines()
    assert row == (
        "| nginx | 4,000 | 500 us | 1,000 us | gro_flush_timeout_us=400 | 700 us | 40.0 us "
        "| saves: 20.0 % (10.0 % to 30.0 %) | 9 | 0.1 % | 90 s |"
    )


def test_an_unknown_application_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--agent-program", "agent", "--apps", "ngnix"])
    assert "not 'ngnix'" in capsys.readouterr().err
