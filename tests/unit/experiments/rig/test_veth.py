"""Real namespaces and a real memcached; what waits is the kernel's."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.needs import need

from bayop.experiments.rig.veth import (
    CLIENT_ADDRESS,
    SERVER_ADDRESS,
    Namespace,
    Schedule,
    VethPair,
    missing,
)

pytestmark = pytest.mark.alone

# The middle of 21 round trips, in us.
PING = f"""
import socket, statistics, time
s = socket.create_connection(("{SERVER_ADDRESS}", 11211))
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
took = []
for _ in range(21):
    began = time.perf_counter()
    s.sendall(b"version\\r\\n")
    s.recv(100)
    took.append(time.perf_counter() - began)
print(statistics.median(took) * 1e6)
"""


@pytest.fixture
def namespace() -> Iterator[Namespace]:
    need("namespaces")
    namespace = Namespace()
    yield namespace
    namespace.close()


def roundtrip_us(pair: VethPair) -> float:
    words = pair.client.command([sys.executable, "-S", "-c", PING])
    return float(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


@pytest.mark.needs("root")  # to look further
def test_what_is_not_installed_is_named_with_its_packages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for program in ("ip", "ethtool", "nsenter", "unshare", "setpriv", "chrt", "taskset"):
        (tmp_path / program).touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert missing() is None
    assert missing(["ip", "memcached"]) == (
        "memcached not installed: apt-get install iproute2 ethtool util-linux ip memcached"
    )
    (tmp_path / "chrt").unlink()
    assert str(missing(["memcached"])).startswith("chrt, memcached not installed: ")


@pytest.mark.needs("namespaces")  # root with its capabilities, to give one away
@pytest.mark.parametrize("capability", ["sys_admin", "net_admin"])
def test_root_of_a_container_learns_what_it_lacks(capability: str) -> None:
    tell = "from bayop.experiments.rig.veth import missing; print(missing())"
    without = ["setpriv", f"--bounding-set=-{capability}", f"--inh-caps=-{capability}"]
    run = subprocess.run([*without, sys.executable, "-c", tell], capture_output=True, text=True, check=True)
    assert "CAP_SYS_ADMIN and CAP_NET_ADMIN, which root does not have" in run.stdout


@pytest.mark.needs("root")  # to become another user
def test_another_user_learns_that_it_takes_root() -> None:
    tell = "import os; from bayop.experiments.rig.veth import missing; os.setuid(65534); print(missing())"
    run = subprocess.run([sys.executable, "-c", tell], capture_output=True, text=True, check=True)
    assert run.stdout == "network namespaces need root\n"


def test_a_namespace_has_no_devices_of_ours_and_ends_with_its_holder(namespace: Namespace) -> None:
    words = namespace.command(["cat", "/proc/net/dev"])
    inside = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert [line.split(":")[0].strip() for line in inside.splitlines()[2:]] == ["lo"]
    assert namespace.path == f"/proc/{namespace.holder_pid}/ns/net"
    assert Path(namespace.path).stat().st_ino != Path("/proc/self/ns/net").stat().st_ino
    namespace.close()
    assert not Path(f"/proc/{namespace.holder_pid}").exists()


def test_a_program_that_fails_inside_is_quoted(namespace: Namespace) -> None:
    namespace.run("true")
    with pytest.raises(RuntimeError, match=r"ip link set none0 up: .*none0"):
        namespace.run("ip", "link", "set", "none0", "up")


def test_the_devices_are_in_their_namespaces_and_not_in_ours(veth_pair: VethPair) -> None:
    for namespace, device, address in (
        (veth_pair.server, veth_pair.device, SERVER_ADDRESS),
        (veth_pair.client, veth_pair.client_device, CLIENT_ADDRESS),
    ):
        words = namespace.command(["ip", "-oneline", "address", "show", "dev", device])
        assert f" {address}/24 " in subprocess.run(words, capture_output=True, text=True, check=True).stdout
        assert f" {device}:" not in Path("/proc/self/net/dev").read_text()


def test_packets_wait_as_long_as_they_are_told_to(veth_pair: VethPair) -> None:
    """A busy machine adds to both, and takes nothing away."""
    veth_pair.defer(gro_flush_timeout_us=20_000, defer_hard_irqs=2)
    folder = f"/sys/class/net/{veth_pair.device}"
    show = f"mount -t sysfs none /sys && cat {folder}/gro_flush_timeout {folder}/napi_defer_hard_irqs"
    words = veth_pair.server.command(["unshare", "--mount", "sh", "-c", show])
    output = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert output.split() == ["20000000", "2"]
    deferred_us = roundtrip_us(veth_pair)
    veth_pair.defer(gro_flush_timeout_us=0, defer_hard_irqs=2)
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout.split() == ["0", "0"]
    assert deferred_us > roundtrip_us(veth_pair) + 5_000


@pytest.mark.parametrize(
    ("schedule", "policy", "cpus"),
    [(Schedule(), os.SCHED_FIFO, None), (Schedule(is_ahead=False, service_cpus=[0]), os.SCHED_OTHER, {0})],
)
def test_a_service_runs_as_it_is_scheduled(schedule: Schedule, policy: int, cpus: set[int] | None) -> None:
    need("namespaces", "memcached")
    with VethPair(schedule) as pair:
        pid = pair.memcached(port=11301)
        assert os.sched_getscheduler(pid) == policy
        assert os.sched_getaffinity(pid) == (cpus or os.sched_getaffinity(0))


def test_clients_have_processors_of_their_own() -> None:
    schedule = Schedule(is_ahead=False, service_cpus=[0], client_cpus=[1, 2])
    assert schedule.clients() == ["taskset", "--cpu-list", "1,2"]
    assert Schedule(service_cpus=[0]).clients() == ["chrt", "--fifo", "1"]


def test_servers_and_namespaces_end_with_the_pair() -> None:
    need("namespaces", "memcached")
    with VethPair() as pair:
        pids = [pair.memcached(port=11300), pair.server.holder_pid, pair.client.holder_pid]
        assert all(Path(f"/proc/{pid}").exists() for pid in pids)
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
