"""`bayop interrupts record` on Debian's 6.1 with e1000e, beside what the kernel and the driver count themselves."""

from __future__ import annotations

import base64
import io
import json
import re
import shlex
import stat
import time
from bisect import bisect
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import polars as pl
import pytest
from tests.end_to_end.lab.conftest import new_machine
from tests.end_to_end.lab.memcached_load import send_load
from tests.end_to_end.lab.test_server import rx_usecs, set_rx_usecs
from tests.end_to_end.libos.conftest import libos_image  # noqa: F401 -- a fixture

from bayop.cli import main
from bayop.interrupts.capture import read_chunks, read_source, recorded
from bayop.interrupts.log import open_log
from bayop.interrupts.numbers import describe
from bayop.interrupts.query import summarise
from bayop.interrupts.record import Capture, record
from bayop.interrupts.watch import Moment, moments
from lab import Files, Machine
from lab.libos import LibraryOs
from lab.power_law import CpuLoad, zone_powers

pytestmark = [pytest.mark.slow, pytest.mark.weekly, pytest.mark.timeout(400)]

PROGRAM = "/usr/bin/bayop-interrupts-record"
RECORD_S = 20
"""Longer than the load, whose answers may take ten seconds on a busy host."""
COUNTS = "cat /proc/uptime; cat /proc/interrupts; ethtool -S eth0; cat /proc/uptime"
"""What the kernel has counted, between two readings of its clock."""


@dataclass(frozen=True)
class Counts:
    """What the guest's kernel had counted at some time between `early_ns` and `late_ns` of its clock."""

    early_ns: int
    late_ns: int
    interrupts: dict[str, int]
    packets: dict[str, int]


@pytest.fixture(scope="module")
def server(interrupts_recorder: Path) -> Iterator[Machine]:
    """A machine with the recorder."""
    with new_machine(Files().add_program(PROGRAM, interrupts_recorder)) as machine:
        yield machine


def counts(machine: Machine) -> Counts:
    text = machine.run(COUNTS).stdout
    # The clock of /proc/uptime shows hundredths of a second, cut off.
    early_s, late_s = re.findall(r"^([\d.]+) [\d.]+$", text, re.MULTILINE)
    rows = re.findall(r"^ *\d+: +(\d+) +(\d+) .*?(eth0\S*)$", text, re.MULTILINE)
    packets = re.findall(r"^ +([rt]x_packets): (\d+)$", text, re.MULTILINE)
    return Counts(
        round(float(early_s) * 1e9),
        round((float(late_s) + 0.01) * 1e9),
        {name: int(first) + int(second) for first, second, name in rows},
        {name: int(count) for name, count in packets},
    )


class Guest:
    """Runs the recorder in the guest as a program that writes to a file, and plays that file here.

    Args:
        machine: The guest.
        folder: For the program and the logs.
    """

    def __init__(self, machine: Machine, folder: Path) -> None:
        self._machine = machine
        self._folder = folder

    def start(self, duration_s: float) -> None:
        """Begins to record eth0, and returns when the programs are attached: then the first line is printed."""
        words = f"{PROGRAM} --device eth0 --duration-s {duration_s}"
        self._machine.run(
            f"rm -f /run/records /run/recorded; ({words} >/run/records; touch /run/recorded) >/dev/null 2>&1 &"
        )
        self._machine.run("while ! [ -s /run/records ]; do usleep 50000; done", timeout_s=90)

    def stop(self) -> Capture:
        """Waits until the recording is over, and reads it."""
        self._machine.run("while ! [ -e /run/recorded ]; do usleep 50000; done", timeout_s=90)
        return self.written()

    def written(self) -> Capture:
        """The logs of what the recorder has left in the guest."""
        play = self._folder / "play"
        (self._folder / "records").write_bytes(self._printed())
        play.write_text(f"#!/bin/sh\nexec cat {shlex.quote(str(self._folder / 'records'))}\n")
        play.chmod(play.stat().st_mode | stat.S_IXUSR)
        logs = self._folder / "logs"
        logs.mkdir(exist_ok=True)
        printed = recorded([str(play)], device="eth0", duration_s=1.0)
        return record(printed, logs, place=str(play), most_bytes=10**9)

    def watched(self) -> list[Moment]:
        """The same, as `bayop interrupts watch` takes it."""
        out = io.BytesIO(self._printed())
        source = read_source(out, "the guest")
        return list(moments(read_chunks(out, source, "the guest"), source, interval_s=1.0))

    def _printed(self) -> bytes:
        return base64.b64decode(self._machine.run("base64 /run/records", timeout_s=120).stdout)


@pytest.fixture
def guest(server: Machine, tmp_path: Path) -> Guest:
    return Guest(server, tmp_path)


def recorded_between(times_ns: list[int], begin: Counts, end: Counts) -> tuple[int, int]:
    """The least and the most interrupts of a log that may have come between two readings."""
    least = bisect(times_ns, end.early_ns) - bisect(times_ns, begin.late_ns)
    most = bisect(times_ns, end.late_ns) - bisect(times_ns, begin.early_ns)
    return least, most


def test_the_log_has_every_interrupt_and_packet_that_the_kernel_and_the_driver_count(
    server: Machine, guest: Guest
) -> None:
    guest.start(RECORD_S)
    readings = [counts(server) for _ in range(3)]
    with ThreadPoolExecutor() as pool:
        load = pool.submit(send_load, server.ports.memcached, rate_per_s=500, duration_s=3, connections=4)
        while not load.done():
            readings.append(counts(server))
        load.result()
    readings += [counts(server) for _ in range(3)]
    capture = guest.stop()
    assert (capture.lost, capture.by_poll, capture.is_full) == (0, False, False)
    logs = {path.stem: pl.read_parquet(path) for path in capture.paths}
    assert {"eth0-rx-0", "eth0-tx-0"} <= logs.keys()
    for name in ("eth0-rx-0", "eth0-tx-0"):
        times_ns = logs[name]["time_ticks"].to_list()
        exact = []
        for (first, begin), (last, end) in combinations(enumerate(readings), 2):
            counted = end.interrupts[name] - begin.interrupts[name]
            least, most = recorded_between(times_ns, begin, end)
            assert least <= counted <= most, (name, counted, least, most)
            if least == most and first < 3 and last >= len(readings) - 3:
                exact.append(counted)
        # Before and after the load nothing comes for a second: then there is only one answer.
        assert exact, name
        assert min(exact) > 50
        print("exactly the kernel's interrupts:", name, exact)


def test_packets_are_those_of_the_driver(server: Machine, guest: Guest) -> None:
    guest.start(RECORD_S)
    before = counts(server)
    send_load(server.ports.memcached, rate_per_s=500, duration_s=4, connections=4)
    after = counts(server)
    capture = guest.stop()
    logs = [pl.read_parquet(path) for path in capture.paths]
    for way in ("rx", "tx"):
        recorded = sum(int(log[f"{way}_descriptors"].sum()) for log in logs) + capture.counted[f"rest_{way}_packets"]
        counted = after.packets[f"{way}_packets"] - before.packets[f"{way}_packets"]
        print(f"{way}: {recorded} packets recorded, {counted} counted by the driver")
        assert recorded == pytest.approx(counted, rel=0.001), way
        assert counted > 1000


def test_a_record_has_what_the_machine_can_tell(server: Machine, guest: Guest) -> None:
    guest.start(5)
    send_load(server.ports.memcached, rate_per_s=100, duration_s=1, connections=1)
    capture = guest.stop()
    log = pl.read_parquet(next(path for path in capture.paths if path.stem == "eth0-rx-0"))
    assert {"irq", "cpu", "napi_id", "freq_khz", "polls", "budget", "hard_irq_ns", "soft_irq_ns"} <= set(log.columns)
    assert {"idle_ns_C1", "idle_ns_C3"} <= set(log.columns)
    assert set(log["freq_khz"]) <= {khz * 100_000 for khz in range(13, 30)}
    idle_ns = log.select(column for column in log.columns if column.startswith("idle_ns_")).sum_horizontal()
    assert 0 < int(idle_ns.sum()) <= 1.01e9 * capture.counted["duration_s"]
    assert (log["hard_irq_ns"] > 0).all()
    assert not {"instructions", "cycles"} & set(log.columns), "an emulated processor counts nothing"
    power_w = float(log["energy_uj"].sum()) * 1e3 / (log["time_ticks"][-1] - log["time_ticks"][0])
    idle, busy = (zone_powers([CpuLoad(busy_share, 2900)] * 2) for busy_share in (0.0, 1.0))
    assert idle.package_w + idle.dram_w < power_w < 0.5 * (busy.package_w + busy.dram_w)
    print(f"power in the log: {power_w:.1f} W, of an idle machine {idle.package_w + idle.dram_w:.1f} W")
    assert json.dumps(describe(summarise(open_log(capture.paths[0]))))


def spacing_us(server: Machine, guest: Guest, *, delay_us: int, quantile: float) -> float:
    """Of the receive queue's log, under packets that come every millisecond."""
    set_rx_usecs(server, delay_us)
    guest.start(6)
    send_load(server.ports.memcached, rate_per_s=1000, duration_s=4)
    (path,) = (path for path in guest.stop().paths if path.stem == "eth0-rx-0")
    return (summarise(open_log(path)).spacing.quantile(quantile) or 0.0) / 1e3


def test_the_spacing_follows_the_delay(server: Machine, guest: Guest) -> None:
    """In QEMU an interrupt that was delayed starts no delay itself, so that the next packet interrupts at once: half of
    the spacings are the delay, and the others are those of packets."""
    delay_us = 8000
    seen = []
    try:
        for _ in range(5):  # a busy host makes interrupts late, and so the next one early
            without_us = spacing_us(server, guest, delay_us=0, quantile=0.1)
            seen.append((without_us, spacing_us(server, guest, delay_us=delay_us, quantile=0.75)))
            if seen[-1][0] < 0.5 * delay_us and 0.95 * delay_us < seen[-1][1] < 1.6 * delay_us:
                break
        else:
            pytest.fail(f"spacing in us, p10 without a delay and p75 with {delay_us} us: {seen}")
        watched = guest.watched()
        # The driver rounds what it is asked for, and says so.
        assert {moment.delay_us for moment in watched} == {rx_usecs(server)}
        print("watched:", max(watched, key=lambda moment: len(moment.queues)))
    finally:
        set_rx_usecs(server, 3)
    print("spacing in us, p10 without a delay and p75 with it:", seen)


@pytest.mark.usefixtures("libos_image")
def test_the_library_os_is_shown_beside_linux(
    server: Machine, guest: Guest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both serve memcached behind an e1000e, under the same load."""
    rate_per_s, duration_s = 500, 4
    guest.start(RECORD_S)
    send_load(server.ports.memcached, rate_per_s=rate_per_s, duration_s=duration_s, connections=4)
    (linux,) = (path for path in guest.stop().paths if path.stem == "eth0-rx-0")
    with LibraryOs("memory=16 agent=on", nic="e1000e") as machine, ThreadPoolExecutor() as pool:
        words = ["interrupts", "record", "--agent", str(machine.agent), "--device", "nic0"]
        recording = pool.submit(main, [*words, "--duration", f"{RECORD_S}s", "--out", str(tmp_path), "--json"])
        time.sleep(1)
        port = int(machine.address(11211).rpartition(":")[2])
        send_load(port, rate_per_s=rate_per_s, duration_s=duration_s, connections=4)
        assert recording.result() == 0
    logs = [str(linux), str(tmp_path / "nic0.parquet")]
    capsys.readouterr()
    assert main(["interrupts", "show", *logs, "--json"]) == 0
    *shown, together = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert [log["layout"].split(", ")[1] for log in shown] == ["eth0-rx-0", "nic0"]
    requests = rate_per_s * duration_s
    assert all(log["totals"]["rx_bytes"] > requests * len(b"get absent\r\n") for log in shown)
    assert together["records"] == sum(log["records"] for log in shown)
    assert main(["interrupts", "show", *logs]) == 0
    print(capsys.readouterr().out)
