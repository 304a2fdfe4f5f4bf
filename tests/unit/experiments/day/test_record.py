"""Records that are written by hand; those of a day that was played are tested with it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bayop.control.ledger import LedgerWindow
from bayop.errors import InputError
from bayop.experiments.day.record import DayRecord, MapRecord, RunRecord, SearchRecord, TrialRecord, read_day

WINDOW = LedgerWindow(
    0.0, 3600.0, "hold", {"nic.rx_usecs": 50, "cpu.freq_mhz": 2100}, 4e5, 100.0 / 3, 310.0, 0.002, meets_slo=True
)
TRIAL = TrialRecord({"nic.rx_usecs": 50, "cpu.freq_mhz": 2100}, 88.0, 310.0, meets_slo=True)
SEARCH = SearchRecord(1, "clock", 0.0, 30.0, 4e5, "converged", TRIAL.setting, (TRIAL, TRIAL))
RUN = RunRecord("bayop-linux", "BayOp on Linux", "linux", "search", (WINDOW,), (SEARCH, replace(SEARCH, setting=None)))
BOUND = RunRecord("bound-linux", "The best of every hour", "linux", "bound", (WINDOW,))
MAP = MapRecord("linux", 3, 4e5, (0.0, 50.0), (1300.0,), ((90.0,), (80.0,)), ((200.0,), (310.0,)), None)
RECORD = DayRecord(
    "memcached", "p99<500us", "power", "clock", "twitter", 1, (4e5,), "a twin", (RUN, BOUND), (MAP,)
)  # fmt: skip
RUN_JSON = {"id": "x", "label": "X", "os": "linux", "kind": "search", "searches": []}


def test_json_and_back_is_the_same_record_but_for_digits_that_mean_nothing(tmp_path: Path) -> None:
    file = tmp_path / "data.json"
    file.write_text(json.dumps(RECORD.to_json(), allow_nan=False), encoding="utf-8")
    back = read_day(file)
    assert back.runs[0].windows[0].power_w == 33.3333333
    exact = replace(WINDOW, power_w=33.3333333)
    assert back == replace(RECORD, runs=tuple(replace(run, windows=(exact,)) for run in RECORD.runs))


def test_what_was_left_out_is_none() -> None:
    assert RECORD.run("bayop-linux") is RUN
    assert RECORD.run("bayop-ebbrt") is None
    assert RECORD.bound_of("linux") is BOUND
    assert RECORD.bound_of("ebbrt") is None
    assert RECORD.map_at("linux", 3) is MAP
    assert RECORD.map_at("linux", 4) is None


def test_a_run_sums_its_searches_and_windows() -> None:
    assert RUN.trials == 4
    assert RUN.ledger.energy_j == pytest.approx(120_000.0)
    assert BOUND.trials == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"runs": None}, "Expected `array`, got `null` - at `$.runs`"),
        ({"runs": [{"id": "x"}]}, "missing required field `label` - at `$.runs[0]`"),
        ({"runs": [RUN_JSON | {"windows": [{"start_s": 0}]}]}, "`duration_s` - at `$.runs[0].windows[0]`"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, change: dict[str, object], message: str) -> None:
    file = tmp_path / "data.json"
    file.write_text(json.dumps(RECORD.to_json() | change), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_day(file)
    assert message in caught.value.message
