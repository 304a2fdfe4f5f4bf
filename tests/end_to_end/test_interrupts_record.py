"""`bayop interrupts record` on this machine's kernel: the polls of a virtual device, which has no interrupts."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from bench.interrupts_record.rates import MOST_APART, rates
from tests.support.ebpf import attached_programs
from tests.support.needs import need
from tests.support.patience import eventually

from bayop.cli import main
from bayop.experiments.rig.veth import SERVER_ADDRESS, VethPair

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

PROGRAMS = 9
"""What is attached where polls are recorded, a kernel that announces frequencies aside."""
SEND = f"""
import socket, time
with socket.socket(type=socket.SOCK_DGRAM) as client:
    for number in range(3000):
        client.sendto(bytes(100), ("{SERVER_ADDRESS}", 9 + number % 50000))
        time.sleep(0.0005)
"""


@pytest.fixture(scope="module")
def pair() -> Iterator[VethPair]:
    """A server's device and its clients' namespace."""
    need("namespaces")
    with VethPair() as pair:
        yield pair


def statistics(pair: VethPair) -> Mapping[str, Any]:
    """What the kernel has counted of the server's device."""
    words = pair.server.command(["ip", "-s", "-j", "link", "show", pair.device])
    (link,) = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    stats: Mapping[str, Any] = link["stats64"]
    return stats


def send(pair: VethPair) -> None:
    subprocess.run(pair.client.command([sys.executable, "-c", SEND]), check=True)


def test_polls_of_a_virtual_device_have_the_packets_that_the_kernel_counts(
    interrupts_recorder: Path, pair: VethPair, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["interrupts", "record", "--device", pair.device, "--netns", pair.server.path, "--duration", "8s"]
    words += ["--recorder", str(interrupts_recorder), "--cost", "--json", "--out", str(tmp_path)]
    words += ["--counters", "context-switches,page-faults"]  # which every machine has, a virtual one too
    with ThreadPoolExecutor() as pool:
        recording = pool.submit(main, words)
        assert eventually(lambda: attached_programs(interrupts_recorder.name) >= PROGRAMS, within_s=20)
        before = statistics(pair)
        send(pair)
        after = statistics(pair)
        assert recording.result() == 0
    (event,) = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (event["polls"], event["lost"], event["full"]) == (True, 0, False)
    assert event["kernel_ns_per_record"] > 0
    logs = [pl.read_parquet(tmp_path / name) for name in event["logs"]]
    assert all(name.startswith(f"{pair.device}-napi-") for name in event["logs"])
    for way in ("rx", "tx"):
        recorded = sum(int(log[f"{way}_descriptors"].sum()) for log in logs) + event[f"rest_{way}_packets"]
        counted = after[way]["packets"] - before[way]["packets"]
        assert recorded == pytest.approx(counted, rel=0.001, abs=8), way  # neighbours are looked for now and then
    assert sum(int(log["rx_bytes"].sum()) for log in logs) == pytest.approx(3000 * (14 + 20 + 8 + 100), rel=0.01)
    assert event["uncounted"] == 0
    # The sender sleeps after each packet.
    assert sum(int(log["context_switches"].sum()) for log in logs) > 3000
    assert all("instructions" not in log.columns for log in logs)
    assert main(["interrupts", "show", *(str(tmp_path / name) for name in event["logs"])]) == 0
    assert "soft_irq_ns / interrupt" in capsys.readouterr().out


# A packet more or less at either end is a matter of which record comes first: on a busy machine there are tens of them.
@pytest.mark.alone
def test_a_log_shows_the_rates_that_the_kernel_counts_of_memcached_under_load(interrupts_recorder: Path) -> None:
    need("namespaces", "memcached")
    for rate in rates(interrupts_recorder, qps=5000, between_s=12):
        print(rate)
        assert rate.shown_per_s > 1000
        assert abs(rate.apart) <= MOST_APART, rate
        assert rate.recorded is None or rate.counted_least <= rate.recorded <= rate.counted_most, rate


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--device", "no0"], "cannot use device no0 of"),
        (["--device", "lo", "--netns", "/nonexistent"], "cannot enter the network namespace /nonexistent"),
        (["--device", "lo", "--max-mb", "0"], "--max-mb"),
        (["--device", "lo", "--counters", "cycles,joules"], "--counters"),
        (["--device", "lo", "--counters", "page-faults,page-faults"], "must name 4 different ones at most"),
        (["--device", "lo", "--duration", "1ms"], "it must lie between 10ms and 720h"),
    ],
)
def test_a_wrong_call_is_one_error(
    interrupts_recorder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str], message: str
) -> None:
    words = ["interrupts", "record", *flags, "--recorder", str(interrupts_recorder), "--out", str(tmp_path)]
    assert main(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert message in captured.err
