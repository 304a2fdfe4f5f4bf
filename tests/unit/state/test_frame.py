from __future__ import annotations

from typing import Any

import polars as pl

from bayop.state.frame import frame_of
from bayop.state.records import columns


def test_a_setting_has_a_column_for_each_knob() -> None:
    rows: list[dict[str, Any]] = [
        {"start_s": 1.0, "setting": {"power.cap_w": 90, "cpu.epp": "power"}, "meets_slo": True, "search": 3},
        {"start_s": 2.0, "setting": None, "meets_slo": False, "search": None},
        {"start_s": 3.0, "setting": {"power.cap_w": 80.5, "cpu.epp": 7}, "meets_slo": True, "search": None},
    ]
    frame = frame_of(rows, ["start_s", "setting", "meets_slo", "search"])
    assert frame.columns == ["start_s", "setting.cpu.epp", "setting.power.cap_w", "meets_slo", "search"]
    assert frame["setting.power.cap_w"].to_list() == [90.0, None, 80.5]
    assert frame["setting.cpu.epp"].to_list() == ["power", None, "7"]
    assert frame.schema["search"] == pl.Int64
    assert frame.schema["meets_slo"] == pl.Boolean


def test_an_empty_table_has_its_columns_too() -> None:
    for table in ("search", "window", "event"):
        frame = frame_of([], columns(table))
        assert frame.columns == [name for name in columns(table) if name != "setting"]
    assert frame_of([{"fields": {"qps": 5}}], ["fields"])["fields"].to_list() == ['{"qps": 5}']
