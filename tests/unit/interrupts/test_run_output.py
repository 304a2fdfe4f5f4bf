from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.interrupt_logs import CONNECTIONS, MUTILATE, WRK

from bayop.errors import InputError
from bayop.interrupts.run_output import (
    ClosedLoop,
    Requests,
    read_connections,
    read_ebbrt_clock,
    read_ebbrt_netpipe,
    read_mutilate,
    read_netpipe_client,
    read_netpipe_server,
    read_nodejs_clock,
    read_wrk,
)
from bayop.interrupts.window import TickWindow

CLIENT = "  8192 2216.084841 0.00002820 0.298963\n"
SERVER = "Using no perturbations\n\nSERVER_WORKLOAD_PERIOD: 11179492725437 11180111245881 3.605057 4.483063\n"
EBBRT = "0 8192 5000 0x1600 135 6 3.7644 4.7438 2835.3799 22.0429 1081548102639 1082180885966\n"
LATENCIES = {
    "mean_us": 121.3, "p5_us": 70.2, "p10_us": 78.8, "p50_us": 117.3, "p90_us": 170.4, "p95_us": 189.9, "p99_us": 232.0
}  # fmt: skip


def refusal(read: Callable[[str, str], object], text: str) -> InputError:
    with pytest.raises(InputError) as caught:
        read(text, "the.file")
    assert caught.value.place == "the.file"
    return caught.value


def test_mutilates_table_and_rate() -> None:
    output = read_mutilate(MUTILATE, "")
    assert output == Requests(LATENCIES | {"qps": 200_003.4}, 20.0)


def test_mutilates_columns_are_told_by_their_names() -> None:
    # The original has no median.
    rows = [line.split() for line in MUTILATE.splitlines()]
    without = "\n".join(" ".join(row[:6] + row[7:]) if len(row) == 10 else " ".join(row) for row in rows)
    output = read_mutilate(without, "").quantities
    assert output == {name: value for name, value in LATENCIES.items() if name != "p50_us"} | {"qps": 200_003.4}


WRK_SAW = {"mean_us": 61.5, "p50_us": 60.0, "p75_us": 65.5, "p90_us": 80.0, "p99_us": 1250.0, "qps": 16_000.5}


def test_wrks_summary_as_it_is_and_as_python_shows_its_bytes() -> None:
    output = read_wrk(WRK, "")
    assert (output.quantities, output.failed) == (WRK_SAW, False)
    assert output.load_s == pytest.approx(1e-3)
    indented = "".join(f"  {line}\n" if line[0] in "L59171" else f"{line}\n" for line in WRK.splitlines())
    assert read_wrk(indented.replace("b'", "").replace("'", ""), "") == output


@pytest.mark.parametrize(
    ("cell", "time_us"), [("7.50us", 7.5), ("1.25ms", 1250.0), ("2.00s", 2e6), ("1.50m", 90e6), ("1.00h", 3600e6)]
)
def test_a_time_of_wrks_has_its_unit(cell: str, time_us: float) -> None:
    output = read_wrk(WRK.replace("1.25ms", cell).replace("in 1.00ms", f"in {cell}"), "")
    assert output.quantities["p99_us"] == pytest.approx(time_us)
    assert output.load_s == pytest.approx(time_us / 1e6)


@pytest.mark.parametrize(
    "line", ["Socket errors: connect 0, read 0, write 0, timeout 2", "Non-2xx or 3xx responses: 1"]
)
def test_wrk_tells_of_requests_that_failed(line: str) -> None:
    output = read_wrk(WRK.replace("Requests/sec", f"{line}\nRequests/sec"), "")
    assert (output.failed, output.quantities) == (True, WRK_SAW)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Latency    61", "Latencies 61", "wrk's output has no such summary"),
        ("requests in", "requests", "wrk's output has no such summary"),
        ("Requests/sec", "Requests/min", "wrk's output has no such summary"),
        ("75%   65.50us", "50%   65.50us", "wrk's output has no such summary"),
        ("80.00us", "80.00", "p90_us of wrk's requests must be a time such as 59.00us"),
        ("80.00us", "0.00us", "p90_us of wrk's requests must be a positive number"),
        ("61.50us", "nanus", "mean_us of wrk's requests must be a time such as 59.00us"),
        ("16000.50", "-nan", "the rate must be a positive number"),
    ],
)
def test_a_damaged_summary_of_wrks_is_refused(old: str, new: str, message: str) -> None:
    assert message in refusal(read_wrk, WRK.replace(old, new)).message
    assert WRK.replace(old, new) != WRK


def test_a_load_on_nodejs_is_the_connection_that_lasted_as_long() -> None:
    text = "11 1000 1090\n12 1100 2050\n13 900 2500\n-1 2000 0\n"
    assert read_nodejs_clock(text, "", 1000, numbered=True) == TickWindow(1100, 2050)
    assert read_nodejs_clock("1100 2050", "", 1000, numbered=False) == TickWindow(1100, 2050)


@pytest.mark.parametrize("text", ["", "11 1000 1090\n-1 2000 0\n", "11 1000 9000\n"])
def test_a_load_without_its_connection_is_refused(text: str) -> None:
    message = refusal(lambda text, place: read_nodejs_clock(text, place, 1000, numbered=True), text).message
    assert "no connection that lasted about as long as the load" in message


def test_a_connection_of_nodejs_without_its_stamps_is_refused() -> None:
    message = refusal(lambda text, place: read_nodejs_clock(text, place, 1000, numbered=True), "11 1000\n").message
    assert "the server must have printed two time stamps" in message


def test_mutilates_bytes_as_python_shows_them() -> None:
    assert read_mutilate("b'" + MUTILATE.rstrip() + "\n'", "") == read_mutilate(MUTILATE, "")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "Total QPS",
            "Total",
            "mutilate's output has no total; mutilate must have printed Total QPS = N (N / Ns) (the.file)",
        ),
        (
            "#type",
            "#kind",
            "mutilate's output has no such table; mutilate must have printed one table",
        ),
        (
            "read ",
            "get ",
            "mutilate's output has no such table; mutilate must have printed one table",
        ),
        (
            "update",
            "read",
            "mutilate's output has no such table; mutilate must have printed one table",
        ),
        (
            "232.0",
            "",
            "mutilate's output has no such table; mutilate must have printed one table",
        ),
        ("232.0", "nan", "cannot use 'nan': p99_us of mutilate's reads must be a positive number (the.file)"),
        ("232.0", "-1.0", "cannot use '-1.0': p99_us of mutilate's reads must be a positive number (the.file)"),
        ("121.3", "0.0", "cannot use '0.0': mean_us of mutilate's reads must be a positive number (the.file)"),
        ("200003.4", "0.0", "the rate must be a positive number"),
        ("20.0s", "0.0s", "the duration must be a positive number"),
    ],
)
def test_what_is_no_output_of_mutilate(old: str, new: str, message: str) -> None:
    assert message in refusal(read_mutilate, MUTILATE.replace(old, new, 1)).message


def test_netpipes_client() -> None:
    output = read_netpipe_client(CLIENT, "")
    assert output == ClosedLoop(8192, 2216.084841)
    # There and back, what it prints as 28.20 us.
    assert output.roundtrip_us == pytest.approx(2 * 28.20, abs=0.01)


@pytest.mark.parametrize("text", ["", "8192", "8192.5 22.1", "0 22.1", "8192 0", "8192 inf", "8192 1e3", "٨ 1"])
def test_what_is_no_output_of_netpipes_client(text: str) -> None:
    refusal(read_netpipe_client, text)


def test_netpipes_server() -> None:
    assert read_netpipe_server(SERVER, "") == TickWindow(11_179_492_725_437, 11_180_111_245_881)
    assert read_netpipe_server("WORKLOAD 5 9", "") == TickWindow(5, 9)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a line WORKLOAD with two time stamps"),
        ("the WORKLOAD 5 9", "a line WORKLOAD with two time stamps"),
        ("WORKLOAD 5", "cannot use '5': the server must have printed two time stamps (the.file)"),
        ("WORKLOAD 5 x", "cannot use '5 x': the server must have printed two time stamps (the.file)"),
        ("WORKLOAD 9 9", "cannot use 'from tick 9 to 9': a run must end after it began (the.file)"),
    ],
)
def test_what_is_no_output_of_netpipes_server(text: str, message: str) -> None:
    assert message in refusal(read_netpipe_server, text).message


def test_netpipe_on_ebbrt() -> None:
    label, output, window = read_ebbrt_netpipe(EBBRT, "")
    assert {name: label[name] for name in ("repeat", "bytes", "loop", "dvfs", "rapl", "itr")} == {
        "repeat": "0", "bytes": "8192", "loop": "5000", "dvfs": "0x1600", "rapl": "135", "itr": "6"
    }  # fmt: skip
    assert output == ClosedLoop(8192, 2835.3799)
    assert output.roundtrip_us == pytest.approx(2 * 22.0429, rel=1e-5)
    assert window == TickWindow(1_081_548_102_639, 1_082_180_885_966)
    assert "EbbRT's NetPIPE must have printed" in refusal(read_ebbrt_netpipe, EBBRT.rpartition(" ")[0]).message


def test_connections_run_together_until_the_last_one_ends() -> None:
    assert read_connections(CONNECTIONS, "") == TickWindow(10_002_900_000, 10_005_800_000)
    # A line that the server adds in the end, of a connection that never was.
    assert read_connections(CONNECTIONS + "-1 -1 10002900001 0\n\n", "").first == 10_002_900_001


@pytest.mark.parametrize("text", ["", "\n", "0 31 5\n", "0 31 5 -6\n", "0 31 9 9\n", CONNECTIONS + "x\n"])
def test_what_is_no_output_of_a_server(text: str) -> None:
    refusal(read_connections, text)


def test_the_window_on_ebbrt_is_no_longer_than_the_load() -> None:
    assert read_ebbrt_clock("100 700\n", "", 500) == TickWindow(100, 600)
    assert read_ebbrt_clock("100 700\n", "", 900) == TickWindow(100, 700)
    assert read_ebbrt_clock("100 0\n", "", 900, with_end=False) == TickWindow(100, 1000)
    with pytest.raises(InputError, match="a run must end after it began"):
        read_ebbrt_clock("100 0\n", "", 900)
    with pytest.raises(InputError, match="two time stamps"):
        read_ebbrt_clock("", "", 900)


READERS: dict[str, tuple[Callable[[str, str], object], str]] = {
    "mutilate": (lambda text, place: read_mutilate(text, place).quantities, MUTILATE),
    "client": (lambda text, place: {"us": read_netpipe_client(text, place).roundtrip_us}, CLIENT),
    "server": (lambda text, place: {"ticks": read_netpipe_server(text, place).ticks}, SERVER),
    "ebbrt": (lambda text, place: {"ticks": read_ebbrt_netpipe(text, place)[2].ticks}, EBBRT),
    "connections": (lambda text, place: {"ticks": read_connections(text, place).ticks}, CONNECTIONS),
    "clock": (lambda text, place: {"ticks": read_ebbrt_clock(text, place, 10).ticks}, "100 700\n"),
}


@pytest.mark.parametrize("reader", READERS)
@given(data=st.data())
def test_damaged_output_is_refused_or_read_as_positive_numbers(reader: str, data: st.DataObject) -> None:
    read, text = READERS[reader]
    at = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(at, min(at + 5, len(text))))
    put = data.draw(st.text(st.sampled_from("0123456789.-+eEnai \n%#_\x00٣é"), max_size=4))
    try:
        numbers = read(text[:at] + put + text[end:], "the.file")
    except InputError:
        return
    assert isinstance(numbers, dict)
    assert numbers
    assert all(math.isfinite(number) and number > 0 for number in numbers.values())
