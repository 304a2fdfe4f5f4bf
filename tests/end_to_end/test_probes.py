"""Both probes against a real memcached behind deferred interrupts, and what its clients really see."""

from __future__ import annotations

import ctypes
import json
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from tests.support.patience import eventually

from bayop.errors import InputError
from bayop.experiments.rig.veth import VethPair
from bayop.latency.base import Vantage, Window
from bayop.latency.ebpf import EbpfProbe

ROOT = Path(__file__).resolve().parents[2]
# At 200 us what the client itself takes is as much as what is asked about.
TIMEOUTS_US = (500, 1000, 2000)
# What no server sees: how long the client's own thread takes to wake, 20 to 50 us, more on a busy machine.
MOST_WAKE_US = 60.0

pytestmark = [pytest.mark.slow, pytest.mark.alone, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def windows(probe_binary: Path, veth_pair: VethPair, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Three runs at each of three deferrals, seen from every vantage, by the benchmark that makes the table."""
    del veth_pair  # Only what it requires; the benchmark makes its own.
    out = tmp_path_factory.mktemp("vantages")
    run = subprocess.run(
        [
            sys.executable, "-m", "bench.latency.vantages", "--probe", str(probe_binary), "--out", str(out),
            "--qps", "4000", "--window", "1", "--repeats", "3", "--timeouts", *map(str, TIMEOUTS_US),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in (out / "windows.jsonl").read_text().splitlines()]


def p50_us(windows: list[dict[str, Any]], vantage: str, timeout_us: int) -> float:
    return float(median(w[vantage][0] for w in windows if w["gro_flush_timeout_us"] == timeout_us))


@pytest.mark.parametrize("timeout_us", TIMEOUTS_US)
def test_with_the_measured_wait_the_server_sees_what_clients_see(
    windows: list[dict[str, Any]], timeout_us: int
) -> None:
    departure_us, client_us = (p50_us(windows, vantage, timeout_us) for vantage in ("departure", "client"))
    assert 0.9 * client_us - MOST_WAKE_US < departure_us < 1.1 * client_us


@pytest.mark.parametrize("timeout_us", TIMEOUTS_US)
def test_the_modelled_wait_is_most_of_what_is_missing(windows: list[dict[str, Any]], timeout_us: int) -> None:
    """The model knows Poisson arrivals and timers that are on time; this machine has neither."""
    server, modelled, client = (p50_us(windows, vantage, timeout_us) for vantage in ("server", "modelled", "client"))
    assert 0.4 < (modelled - server) / (client - server) < 1.1


def test_the_server_alone_does_not_see_the_wait(windows: list[dict[str, Any]]) -> None:
    """Four times the deferral more than doubles what clients see, and the server does not notice."""
    assert p50_us(windows, "client", 2000) > 2 * p50_us(windows, "client", 500)
    assert p50_us(windows, "server", 2000) < 0.2 * p50_us(windows, "client", 2000)


def test_the_probe_costs_little_beside_a_request(windows: list[dict[str, Any]]) -> None:
    """A share, as both grow on a slow or busy machine."""
    share = median(w["cost_ns"][0] / w["request_ns"] for w in windows)
    print(f"{100 * share:.1f} % of a request's processor time")
    assert 0 < share < 0.1


# The source of latency around the probe


@pytest.mark.usefixtures("loaded_pair")
def test_the_source_adds_the_wait_that_the_setting_makes(probe_binary: Path, veth_pair: VethPair) -> None:
    veth_pair.defer(gro_flush_timeout_us=500)
    source = EbpfProbe(f"{probe_binary} --port 11211 --netns {veth_pair.server.path}")
    setting = {"napi.gro_flush_timeout_us": 500, "napi.defer_hard_irqs": 1}
    modelled = source.measure(Window(setting, 1.0), sleep=time.sleep)
    assert modelled.vantage is Vantage.SERVER_AND_WAIT
    assert modelled.quantities["p90_us"] > 300
    # Requests that the client wrote together while packets waited count as one.
    assert 0 < modelled.quantities["qps"] < 2600
    with pytest.raises(InputError, match="cannot use 'server': a search must be fed with what clients see"):
        source.measure(Window({}, 0.5), sleep=time.sleep)


def test_a_window_without_requests_is_refused(probe_binary: Path, veth_pair: VethPair) -> None:
    source = EbpfProbe(f"{probe_binary} --port 9 --netns {veth_pair.server.path} --rx-usecs 10")
    with pytest.raises(InputError, match="the window had too few requests \\(0\\)") as caught:
        source.measure(Window({}, 0.2), sleep=time.sleep)
    assert "--port" in str(caught.value.hint)


# The binary by itself


def probe(binary: Path, *arguments: str, **how: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([binary, *arguments], capture_output=True, text=True, check=False, timeout=60, **how)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--port", "0"], 2, "--port"),
        (["--port", "1", "--rx-usecs", "-3"], 2, "rx-usecs"),
        (["--port", "1", "--rx-usecs", "nan"], 2, "a number from 0 to"),
        (["--port", "1", "--rx-usecs", "3", "--wait", "lo"], 2, "cannot be used with"),
        (["--port", "1", "--defer-hard-irqs", "3"], 2, "--gro-flush-timeout-us"),
        (["--port", "1", "--cgroup", "/etc"], 2, "cannot use '/etc': the cgroup must be a folder of"),
        (["--port", "1", "--netns", "/nonexistent"], 2, "cannot enter the network namespace /nonexistent"),
        (["--port", "1", "--wait", "no0"], 2, "cannot use device no0 of"),
    ],
)
@pytest.mark.usefixtures("veth_pair")
def test_a_wrong_call_is_said(probe_binary: Path, arguments: list[str], code: int, message: str) -> None:
    done = probe(probe_binary, *arguments, "--windows", "1", "--window-s", "0.1")
    assert (done.returncode, message in done.stderr) == (code, True), done.stderr
    assert done.stdout == ""


@pytest.mark.usefixtures("veth_pair")
def test_without_capabilities_it_says_which(probe_binary: Path) -> None:
    words = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all", str(probe_binary), "--port", "1"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert "CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN" in done.stderr
    assert "hint: " in done.stderr


@pytest.mark.usefixtures("loaded_pair")
def test_a_device_without_departures_is_refused(probe_binary: Path, veth_pair: VethPair) -> None:
    """Loopback hands packets over without them."""
    done = probe(probe_binary, "--port", "11211", "--netns", veth_pair.server.path, "--wait", "lo", "--windows", "1")
    assert done.returncode == 4
    assert "say when their client sent them" in done.stderr


def programs_of(pid: int) -> set[int]:
    """The ids of the eBPF programs that a process holds; the kernel's bpf_prog_show_fdinfo()."""
    texts = [path.read_text() for path in Path(f"/proc/{pid}/fdinfo").iterdir()]
    return {int(line.split()[1]) for text in texts for line in text.splitlines() if line.startswith("prog_id:")}


class _NextId(ctypes.Structure):
    """`union bpf_attr` of BPF_PROG_GET_NEXT_ID; linux/bpf.h."""

    _fields_ = (("start_id", ctypes.c_uint32), ("next_id", ctypes.c_uint32), ("open_flags", ctypes.c_uint32))


def loaded_programs() -> set[int]:
    """The ids of all eBPF programs in the kernel; bpf(2)."""
    bpf, get_next_id = {"x86_64": 321, "aarch64": 280}[platform.machine()], 11
    libc, ids = ctypes.CDLL(None, use_errno=True), set[int]()
    attributes = _NextId()
    while libc.syscall(bpf, get_next_id, ctypes.byref(attributes), ctypes.sizeof(attributes)) == 0:
        ids.add(attributes.next_id)
        attributes.start_id = attributes.next_id
    return ids


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_however_it_ends_it_leaves_nothing_in_the_kernel(
    probe_binary: Path, veth_pair: VethPair, ending: signal.Signals
) -> None:
    words = f"{probe_binary} --port 1 --netns {veth_pair.server.path} --wait {veth_pair.device} --window-s 0.1".split()
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    own = programs_of(process.pid)
    assert len(own) == 3
    assert own <= loaded_programs()
    process.send_signal(ending)
    process.wait(timeout=10)
    process.stdout.close()
    # The kernel frees a program some time after its last user is gone.
    assert eventually(lambda: not own & loaded_programs(), within_s=10)


@pytest.mark.usefixtures("veth_pair")
def test_it_ends_quietly_when_nobody_reads(probe_binary: Path) -> None:
    words = f"{probe_binary} --port 1 --window-s 0.05".split()
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["requests"] == 0
    process.stdout.close()
    assert process.wait(timeout=10) == 0
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
