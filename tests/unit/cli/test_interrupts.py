from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.captures import SUMMARY, chunk, header, player
from tests.support.interrupt_logs import LINES, ebbrt_lines, ebbrt_memory, write_lines

from bayop.cli import main

DEFAULT = "interrupts_netpipe_linux_default_8192B.csv.gz"
STATIC = "interrupts_netpipe_linux_static_8192B_itr8us_2500MHz.csv.gz"


def json_lines(argv: list[str], capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    assert main(["interrupts", *argv, "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return [json.loads(line) for line in captured.out.splitlines()]


def check_refusal(argv: list[str], capsys: pytest.CaptureFixture[str], message: str, code: int = 2) -> None:
    assert main(["interrupts", *argv]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert message in captured.err
    assert len(captured.err.splitlines()) <= 2


def test_json_has_a_line_per_log_and_one_for_all(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    default, static, both = json_lines(["show", str(data / DEFAULT), str(data / STATIC)], capsys)
    assert [default["event"], static["event"], both["event"]] == ["log", "log", "all"]
    assert both["records"] == default["records"] + static["records"] == 35_395
    assert default["counters"]["energy_j"] == pytest.approx(22.87068)
    assert static["spacing"]["p50_us"] == pytest.approx(8.697, rel=0.004)
    assert "counters" not in both


def test_ebbrts_memory_is_shown_and_converted_like_its_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, *lines = ebbrt_lines()
    text, memory = write_lines(tmp_path / "text", [first, *lines]), tmp_path / "memory"
    memory.write_bytes(ebbrt_memory(lines))
    parquet = tmp_path / "memory.parquet"
    assert json_lines(["convert", str(memory), "--out", str(parquet)], capsys)[0]["records"] == 6
    machine = ["--tsc-mhz", "2899.999", "--energy-unit-uj", "15.25"]
    shown = [json_lines(["show", str(path), *machine], capsys)[0] for path in (text, memory)]
    assert shown[0] == {**shown[1], "file": str(text)}
    (own,), (converted,) = (json_lines(["show", str(path)], capsys) for path in (memory, parquet))
    assert converted == {**own, "file": str(parquet)}
    memory.write_bytes(ebbrt_memory(lines)[:-1])
    check_refusal(["show", str(memory)], capsys, f"({memory}, record 6)\nhint: the log is cut short: get it again")


def test_people_get_a_table_and_a_word_about_the_idle_states(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["interrupts", "show", str(data / DEFAULT)]) == 0
    out = capsys.readouterr().out
    assert "22.871" in out
    assert "c7 0.00028013 residency (the driver's counters are not reliable)" in out


def test_one_record_per_sample_is_pointed_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_lines(tmp_path / "log", [LINES[1], LINES[4]])
    assert main(["interrupts", "show", str(path)]) == 0
    assert "every record is a sample" in capsys.readouterr().out


def test_a_report_is_written(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["interrupts", "show", str(data / DEFAULT), "--out", str(tmp_path / "new")]) == 0
    assert "wrote interrupt-spacing.svg" in capsys.readouterr().out
    assert (tmp_path / "new" / "over_time.csv").exists()


def test_a_machine_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_lines(tmp_path / "log", LINES)
    (numbers,) = json_lines(["show", str(path), "--tsc-mhz", "1GHz", "--energy-unit-uj", "1000"], capsys)
    assert numbers["span_s"] == pytest.approx(0.005829)
    assert numbers["counters"]["energy_j"] == pytest.approx(0.3)


def test_convert_says_what_it_did(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "log.parquet"
    (event,) = json_lines(["convert", str(data / DEFAULT), "--out", str(out)], capsys)
    assert event["records"] == 10_030
    assert event["bytes"] == out.stat().st_size
    before, after, _ = json_lines(["show", str(data / DEFAULT), str(out)], capsys)
    assert {**before, "file": None} == {**after, "file": None}
    check_refusal(["convert", str(data / DEFAULT), "--out", str(out)], capsys, f"{out} is there already")
    out.unlink()
    assert main(["interrupts", "convert", str(data / DEFAULT), "--out", str(out)]) == 0
    assert "10030 records: " in capsys.readouterr().out


def test_bad_usage_and_bad_logs(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = str(data / DEFAULT)
    bad = write_lines(tmp_path / "bad", [*LINES[:3], "1 2"])
    check_refusal(
        ["show", str(bad)],
        capsys,
        f"cannot use \"2 in '1 2'\": a record of this log must have 16 fields ({bad}, line 4)",
    )
    check_refusal(["show", good, "nowhere"], capsys, "cannot read nowhere: no such file")
    check_refusal(["show", good, "--tsc-mhz", "2900"], capsys, "rates of a machine must go with intlog's text")
    check_refusal(["show", good, "--tsc-mhz", "0"], capsys, "it must lie between 1 and 100000 MHz (--tsc-mhz)")
    check_refusal(["show", good, "--energy-unit-uj", "nan"], capsys, "cannot use 'nan': it must lie between")
    check_refusal(["show", good, "--energy-unit-uj", "x"], capsys, "it must be a number of uJ (--energy-unit-uj)")
    check_refusal(["show", good, "--out", str(bad / "x")], capsys, "cannot write")
    check_refusal(["convert", good, "--out", "x.csv"], capsys, "the result must be a .parquet file (--out)")


def test_without_ray_the_way_to_get_it_is_named(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    check_refusal(["show", str(data / DEFAULT), "--ray", "auto"], capsys, "pip install 'bayop[ray]'", code=4)


def watch(folder: Path, *more: str) -> list[str]:
    """The words of a watch of a recording."""
    printed = header() + chunk(
        (1_000, 24, 0, 3, 300, 1, 60, 2, 400), (5_000, 24, 0, 1, 100, 0, 0, 1, 1_600), time_s=1.0
    )
    program = shlex.join(player(folder, printed + chunk(time_s=2.0) + b'{"duration_s": 2, "lost": 0}\n'))
    return ["watch", "--device", "eth0", "--recorder", program, *more]


def test_a_watch_has_a_line_for_each_moment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    busy, quiet = json_lines(watch(tmp_path), capsys)
    assert [busy["event"], busy["time_s"], busy["delay_us"], busy["lost"]] == ["moment", 1.0, 2.0, 0]
    assert busy["queues"] == [
        {
            "queue": "eth0-rx-0", "cpus": [0], "interrupts_per_s": 2.0,
            "spacing": {"p1_us": 4.0, "p50_us": 4.0, "p99_us": 4.0, "kept_share": 1.0},
            "rx_packets": 2.0, "tx_packets": 0.5, "irq_share": None, "idle_share": 0.4,
        }
    ]  # fmt: skip
    assert quiet["queues"] == []


def test_people_see_a_table_for_each_moment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["interrupts", *watch(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "interrupts at 1.0 s, asked to wait 2 us" in out
    assert "40.0%" in out


def test_a_watch_must_last_for_a_moment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check_refusal(
        watch(tmp_path, "--interval", "1min", "--duration", "2s"),
        capsys,
        "cannot use '60 s': it must be at most --duration (--interval)",
    )
    check_refusal(watch(tmp_path, "--interval", "1ms"), capsys, "it must lie between 100ms and 1h (--interval)")


@pytest.mark.parametrize(
    ("chunks", "words"),
    [
        ([], "0 interrupts of eth0 in 0 logs in "),
        ([(1_000, 24, 0, 3, 300, 1, 60, 2, 400)], "1 interrupt of eth0 in 1 log in "),
        (
            [(1_000, 24, 0, 3, 300, 1, 60, 2, 400), (1_500, 25, 1, 0, 0, 2, 120, 0, 900)],
            "2 interrupts of eth0 in 2 logs in ",
        ),
    ],
)
def test_what_was_recorded_is_said_and_that_nothing_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], chunks: list[tuple[int, ...]], words: str
) -> None:
    printed = header() + b"".join(map(chunk, chunks)) + f"{json.dumps(SUMMARY)}\n".encode()
    recorder = shlex.join(player(tmp_path, printed))
    argv = ["interrupts", "record", "--device", "eth0", "--recorder", recorder, "--out", str(tmp_path / "logs")]
    assert main(argv) == 0
    out = capsys.readouterr().out
    assert words in out
    assert ("there were no interrupts: it was idle" in out) == (not chunks)
