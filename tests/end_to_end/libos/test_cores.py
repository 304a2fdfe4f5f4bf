"""Several cores serve: connections spread over them, and what they share stays whole."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from bench.libos.soak.run import sensors
from tests.support.needs import need
from tests.support.servers import result_of

from bayop.errors import InputError
from bayop.experiments.rig.veth import Namespace
from lab.libos import NICS, LibraryOs

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("libos_image"), pytest.mark.needs("namespaces")]

COUNT = """
import socket, sys
host, connections, times = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
clients = [socket.create_connection((host, 11211)) for _ in range(connections)]
answers = [client.makefile("rb") for client in clients]
clients[0].sendall(b"set n 0 0 1\\r\\n0\\r\\n")
assert answers[0].readline() == b"STORED\\r\\n"
for client in clients:
    client.sendall(b"incr n 1\\r\\n" * times)
seen = [int(answer.readline()) for answer in answers for _ in range(times)]
assert sorted(seen) == list(range(1, connections * times + 1)), sorted(seen)[:5]
"""
"""Many connections count with one number: each count is somebody's, once."""
KEEP_COUNTING = """
import socket, sys, time
host, until_s = sys.argv[1], time.monotonic() + float(sys.argv[2])
clients = [socket.create_connection((host, 11211), timeout=10) for _ in range(16)]
answers = [client.makefile("rb") for client in clients]
clients[0].sendall(b"set m 0 0 1\\r\\n0\\r\\n")
assert answers[0].readline() == b"STORED\\r\\n"
seen, waits = [], 0
while time.monotonic() < until_s:
    # Those at the end are left alone for ever longer, until the NIC has forgotten who answers them.
    asked = [at for at in range(16) if waits % (1 + at * at) == 0]
    for at in asked:
        clients[at].sendall(b"incr m 1\\r\\n" * 20)
    seen += [int(answers[at].readline()) for at in asked for _ in range(20)]
    waits += 1
    time.sleep(0.02)
assert sorted(seen) == list(range(1, len(seen) + 1)), len(seen)
print(len(seen))
"""
"""As many connections as above count for some seconds, some of them seldom."""
ASK = """
import sys, urllib.request
body = sys.argv[2].encode() if len(sys.argv) > 2 else None
request = urllib.request.Request(sys.argv[1], body, {"content-type": "application/json"})
print(urllib.request.urlopen(request, timeout=10).read().decode())
"""
CONSISTENCY = """
import socket, struct, sys
header = struct.Struct(">BBHBBHIIQ")
with socket.create_connection((sys.argv[1], 11311)) as client, client.makefile("rb") as answers:
    client.sendall(header.pack(0x80, 0x10, 11, 0, 0, 0, 11, 0, 0) + b"consistency")
    fields = header.unpack(answers.read(header.size))
    assert fields[5] == 0, fields
    print(answers.read(fields[6]).decode())
"""


@pytest.fixture
def clients() -> Iterator[Namespace]:
    need("ip")
    namespace = Namespace()
    yield namespace
    namespace.close()


def python(clients: Namespace, program: str, *arguments: str) -> str:
    """What a program prints that runs where clients are."""
    command = clients.command([sys.executable, "-c", program, *arguments])
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def load(clients: Namespace, *words: str) -> None:
    command = clients.command([sys.executable, "-m", "bayop", "load", *words, "--json"])
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    counts = result_of(run)["counts"]
    assert counts["answered"] == counts["intended"] > 1000, run.stderr


class Agent:
    """The machine's agent, asked from where its clients are."""

    def __init__(self, clients: Namespace, machine: LibraryOs) -> None:
        self._clients = clients
        self._machine = machine
        self._lease = ""

    def ask(self, path: str, **body: object) -> Any:
        words = [json.dumps(body)] if body else []
        return json.loads(python(self._clients, ASK, f"{self._machine.agent}/v1/{path}", *words))

    def serve_by(self, cores: int) -> None:
        self._lease = self._lease or self.ask("lease", holder="a test", ttl_s=60)["lease"]
        self.ask("apply", lease=self._lease, setting={"cores.serving": cores})

    def release(self) -> None:
        self.ask("release", lease=self._lease)

    @property
    def serving(self) -> int:
        knobs = {knob["id"]: knob["places"][0] for knob in self.ask("knobs")["knobs"]}
        return int(knobs["cores.serving"]["effective"])

    def busy_shares(self, duration_s: float) -> list[float]:
        """The part of a time that each core is awake."""
        before, start_s = sensors(self._clients, self._machine), time.monotonic()
        time.sleep(duration_s)
        after, spent_s = sensors(self._clients, self._machine), time.monotonic() - start_s
        return [(after[name] - before[name]) / spent_s for name in ("cpu_busy_s@cpu0", "cpu_busy_s@cpu1")]


@pytest.mark.parametrize("wait", ["interrupt", "poll"])
def test_a_core_that_is_parked_sleeps_and_its_connections_go_on(clients: Namespace, wait: str) -> None:
    with (
        LibraryOs(f"cores=2 agent=on wait={wait}", inside=clients.command([])) as machine,
        ThreadPoolExecutor() as pool,
    ):
        agent = Agent(clients, machine)
        host = machine.address(11211).split(":")[0]
        loaded = pool.submit(
            load, clients, "-s", machine.address(11211), "--workload", "etc", "--closed-loop", "-t", "14s", "-c", "16"
        )
        counted = pool.submit(python, clients, KEEP_COUNTING, host, "14")
        time.sleep(2)
        for _ in range(3):
            both = agent.busy_shares(0.5)
            assert min(both) > max(both) / 10, both
            agent.serve_by(1)
            time.sleep(0.1)
            first, parked = agent.busy_shares(1.0)
            assert parked < first / 10, (first, parked)
            python(clients, COUNT, host, "8", "50")
            agent.serve_by(2)
        both = agent.busy_shares(0.5)
        assert min(both) > max(both) / 10, f"those that are open come back: {both}"
        for _ in range(30):
            agent.serve_by(1)
            agent.serve_by(2)
        loaded.result()
        assert int(counted.result()) > 1000
        agent.serve_by(1)
        assert agent.serving == 1
        agent.release()
        assert agent.serving == 2
        python(clients, COUNT, host, "16", "200")
        assert machine.is_up, machine.console


@pytest.mark.parametrize("wait", ["interrupt", "adaptive"])
def test_connections_spread_over_the_cores_and_share_one_memcached(clients: Namespace, wait: str) -> None:
    with LibraryOs(f"cores=2 agent=on wait={wait}", inside=clients.command([])) as machine:
        before = sensors(clients, machine)
        load(clients, "-s", machine.address(11211), "--workload", "etc", "-q", "1000", "-t", "2s", "-c", "64")
        python(clients, COUNT, machine.address(11211).split(":")[0], "16", "200")
        after = sensors(clients, machine)
        spent = {name: after[name] - before[name] for name in after}
        print(spent)
        assert min(spent["idle_usage@cpu0/C1"], spent["idle_usage@cpu1/C1"]) > 100
        assert min(spent["cpu_busy_s@cpu0"], spent["cpu_busy_s@cpu1"]) > 0.0
        assert spent["nic_rx_packets@nic0"] > 2000
        assert machine.is_up, machine.console


def test_transactions_of_several_cores_leave_the_database_consistent(clients: Namespace) -> None:
    with (
        LibraryOs("app=tpcc cores=2 agent=on", inside=clients.command([])) as machine,
        ThreadPoolExecutor() as pool,
    ):
        words = ["-s", machine.address(11311), "--binary", "--noload", "-q", "600", "-t", "3s", "-c", "32"]
        loaded = pool.submit(load, clients, *words)
        time.sleep(1.5)
        agent = Agent(clients, machine)
        for cores in (1, 2, 1):
            agent.serve_by(cores)
            time.sleep(0.3)
        loaded.result()
        said = python(clients, CONSISTENCY, machine.address(11311).split(":")[0])
        assert said.strip() == "violations0"
        assert machine.is_up, machine.console


def test_more_cores_than_the_machine_has_are_refused(clients: Namespace) -> None:
    with (
        pytest.raises(InputError, match="cores must be at most the machine's 1"),
        LibraryOs("cores=2", inside=clients.command([]), arguments=["-smp", "1"]),
    ):
        pass


@pytest.mark.parametrize("nic", NICS)
def test_a_nic_without_queues_for_all_cores_is_refused(nic: str) -> None:
    with pytest.raises(InputError, match="a pair of queues for each core"), LibraryOs("cores=2", nic=nic):
        pass


def test_a_number_of_cores_that_none_can_be_is_refused() -> None:
    with pytest.raises(InputError, match="cores must be 1 to 16"), LibraryOs("cores=17"):
        pass
