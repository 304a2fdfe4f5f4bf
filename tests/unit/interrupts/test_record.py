from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from tests.support.captures import FIELDS, PLACE, RECORD, RECORDING, SUMMARY, chunk, header, playing

from bayop.errors import InputError
from bayop.interrupts.convert import convert
from bayop.interrupts.log import open_log
from bayop.interrupts.numbers import describe
from bayop.interrupts.query import summarise
from bayop.interrupts.record import Capture, record


def recorded(folder: Path, printed: bytes = RECORDING, *, most_bytes: int = 10**6) -> Capture:
    return record(playing(folder, printed), folder, place=PLACE, most_bytes=most_bytes)


def test_each_queue_has_a_log_in_the_order_of_time(tmp_path: Path) -> None:
    capture = recorded(tmp_path)
    assert [path.name for path in capture.paths] == ["eth0-rx-0.parquet", "eth0-tx-0.parquet"]
    assert (capture.records, capture.lost, capture.is_full, capture.by_poll) == (4, 2, False, False)
    assert capture.counted["rest_tx_packets"] == 5
    log = pl.read_parquet(capture.paths[0])
    assert log["time_ticks"].to_list() == [1_000, 3_000, 9_000]
    assert log["entry"].to_list() == [0, 1, 2]
    assert log["rx_descriptors"].to_list() == [3, 1, 0]
    assert log["cpu"].to_list() == [0, 1, 1]
    assert "freq_khz" not in log.columns, "a source that is absent is an absent column"


def test_a_log_is_read_as_any_other(tmp_path: Path) -> None:
    capture = recorded(tmp_path)
    numbers = describe(summarise(open_log(capture.paths[0])))
    assert numbers["layout"] == "eBPF, eth0-rx-0"
    assert numbers["amounts"] == {"polls": {"total": 4, "mean": 4 / 3}}
    assert numbers["idle_states"] == {"C1": {"share": 0.25}}
    assert numbers["totals"] == {"rx_descriptors": 4, "rx_bytes": 400, "tx_descriptors": 1, "tx_bytes": 60}
    assert numbers["counters"]["power_w"] is None  # type: ignore[index]
    again = tmp_path / "again.parquet"
    assert convert(open_log(capture.paths[0]), again) == 3
    assert describe(summarise(open_log(again))) == numbers


def test_counters_and_energy_are_told_of_the_whole_log(tmp_path: Path) -> None:
    names = ["instructions" if name == "polls" else "cycles" if name == "idle_ns_C1" else name for name in FIELDS]
    fields = [{"name": name, "offset": 8 * number, "bytes": 8} for number, name in enumerate(names)]
    printed = (
        header(fields=fields, meter="powercap")
        + chunk(time_s=0.0, energy={"time_ns": 0, "energy_uj": 500})
        + chunk((1_000, 24, 0, 3, 300, 1, 60, 700, 400), energy={"time_ns": 2_000, "energy_uj": 700})
        + chunk((5_000, 24, 0, 1, 100, 0, 0, 900, 600), energy=None)
        + chunk((9_000, 24, 0, 1, 100, 0, 0, 800, 200), energy={"time_ns": 10_000, "energy_uj": 1_500})
        + f"{json.dumps(SUMMARY)}\n".encode()
    )
    capture = recorded(tmp_path, printed)
    assert pl.read_parquet(capture.paths[0])["energy_uj"].to_list() == [0, 400, 400]
    numbers = describe(summarise(open_log(capture.paths[0])))
    assert numbers["counters"] == pytest.approx({
        "samples": 0, "sampled_s": 0.0, "interrupts_per_s": 250_000.0, "energy_j": 0.0008, "power_w": 100.0,
        "instructions": 2_400, "cycles": 1_200, "ref_cycles": None, "llc_misses": None, "utilization": None,
        "mean_freq_mhz": None, "instructions_per_cycle": 2.0, "instructions_per_interrupt": 800.0,
        "energy_per_interrupt_uj": 800 / 3,
    })  # fmt: skip
    assert numbers["amounts"] == {"cycles": {"total": 1_200, "mean": 400.0}}


def test_it_ends_when_the_records_have_taken_their_room(tmp_path: Path) -> None:
    capture = recorded(tmp_path, most_bytes=3 * RECORD.itemsize + 7)
    assert (capture.records, capture.is_full) == (3, True)
    assert pl.read_parquet(capture.paths[0]).height == 2
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_polls_are_parted_by_napi(tmp_path: Path) -> None:
    names = ["napi_id" if name == "irq" else name for name in FIELDS]
    fields = [{"name": name, "offset": 8 * number, "bytes": 8} for number, name in enumerate(names)]
    printed = RECORDING.replace(header(), header(queues=[], fields=fields))
    capture = recorded(tmp_path, printed)
    assert capture.by_poll
    assert [path.name for path in capture.paths] == ["eth0-napi-24.parquet", "eth0-napi-25.parquet"]


@pytest.mark.parametrize(
    ("printed", "message"),
    [
        (b"", "ended before its last line"),
        (header(), "ended before its last line"),
        (header() + chunk((1,) * len(FIELDS))[:-3], "ended before its last line"),
        (b"nonsense\n", "a recorder must print records of interrupts"),
        (b"{}\n", "a recorder must print records of interrupts"),
        (header(fields=[]), "a recorder must print records of interrupts"),
        (header(fields=[{"name": "time_ns", "offset": 80, "bytes": 8}]), "a recorder must print records of"),
        (header() + b'{"records": 0, "lost": 0}\n', "a recorder must print records of interrupts"),
        (
            header() + b'{"records": 100000000000, "lost": 0, "time_s": 0.1, "delay_us": null}\n',
            "a recorder must print records of interrupts",
        ),
    ],
)
def test_what_is_no_recording_is_refused(tmp_path: Path, printed: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        recorded(tmp_path, printed)
    assert not list(tmp_path.glob("*.parquet"))


def test_a_log_with_an_amount_that_cannot_be_is_refused(tmp_path: Path) -> None:
    path = recorded(tmp_path).paths[0]
    layout = open_log(path).layout.to_json()
    pl.read_parquet(path).with_columns(polls=pl.lit(-1, pl.Int64)).write_parquet(
        path, metadata={"bayop.interrupts": layout}
    )
    with pytest.raises(InputError, match="polls must lie between 0 and"):
        summarise(open_log(path))
