from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from bench.netpipe import page
from bench.netpipe.run import Row, interrupts_of, main, said, table
from bench.rows import read_rows

ROW = Row("rig", 64, 10, 20_000, 20_000.0, 50.0, 90.0, 2.0)
SLOW = replace(ROW, delay_us=400, p50_us=430.0, p99_us=None, interrupts_per_round_trip=1.0)
INTERRUPTS = """\
           CPU0       CPU1
 24:          3         40   PCI-MSI 16384-edge      eth0-rx-0
 25:        500          0   PCI-MSI 16385-edge      eth0-tx-0
 26:          0       6000   PCI-MSI 16386-edge      eth0
 27:      70000          0   PCI-MSI 32768-edge      virtio1-req.0
LOC:     800000     800000   Local timer interrupts
"""


def test_a_cell_has_medians_and_the_shortest_of_a_size_is_bold() -> None:
    rows = [ROW, replace(ROW, p50_us=60.0, p99_us=80.0), replace(ROW, p50_us=40.0, p99_us=None), SLOW]
    assert table([*rows, replace(SLOW, place="lab", message_bytes=8_192, p50_us=1_000.0)]).splitlines() == [
        "| where | delay | 64 B | 8,192 B |",
        "|---|---:|---:|---:|",
        "| rig | 10 us | **50** / 85 us, 2.0 | - |",
        "| rig | 400 us | 430 / - us, 1.0 | - |",
        "| lab | 400 us | - | **1,000** / - us, 1.0 |",
    ]
    assert said(SLOW) == "rig, 64 bytes, 400 us: 430 us"


def test_interrupts_are_those_of_the_server_s_device() -> None:
    assert interrupts_of(INTERRUPTS) == 6_543


def test_places_are_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--places", "rig,moon"]) == 2
    assert "there is no place 'moon'" in capsys.readouterr().err


def test_the_table_of_the_page_follows_from_the_rows() -> None:
    rows = read_rows(max(Path("bench/netpipe/results").glob("*/raw.csv")), Row)
    assert f"<!-- netpipe -->\n{table(rows)}<!-- end -->" in page.PAGE.read_text(encoding="utf-8")


def test_every_place_has_a_panel() -> None:
    axes = page.drawing([ROW, SLOW, replace(ROW, place="lab"), replace(SLOW, place="lab")]).figure.axes
    assert [panel.get_title(loc="left") for panel in axes] == ["rig (gro_flush_timeout)", "lab (rx_usecs of an e1000e)"]
