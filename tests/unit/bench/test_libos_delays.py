from __future__ import annotations

from dataclasses import replace

import pytest
from bench.libos.delays import Row, main, table

ROW = Row("libos", "e1000e", "interrupt", 1000, 2000.0, 1990.0, 2800.0, 0.5, 300.0, 1200.0)


def test_a_row_has_the_medians_of_its_machines() -> None:
    rows = [ROW, replace(ROW, instructions_per_request=2900.0, p99_us=9000.0), replace(ROW, p50_us=310.0)]
    assert table(rows).splitlines()[2:] == [
        "| libos | e1000e | interrupt | 1,000 us | 2,000 | 2,800 | 0.50 | 300 us | 1,200 us |"
    ]


def test_a_closed_loop_says_what_it_served() -> None:
    row = replace(ROW, nic="virtio-net", wait="poll", delay_us=0, qps=0.0, served_qps=30_000.0)
    assert "| libos | virtio-net | poll |  | closed loop, 30,000 |" in table([row])


def test_systems_are_told_apart() -> None:
    cells = [line.split("|")[1].strip() for line in table([ROW, replace(ROW, system="linux-tuned")]).splitlines()[2:]]
    assert cells == ["libos", "linux-tuned"]


def test_there_is_at_least_one_machine_for_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--repeats", "0"])
    assert ended.value.code == 2
    assert "argument --repeats: must be at least 1, not 0" in capsys.readouterr().err
