"""Several cores serve: connections spread over them, and what they share stays whole."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

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
    with LibraryOs("app=tpcc cores=2", inside=clients.command([])) as machine:
        load(clients, "-s", machine.address(11311), "--binary", "--noload", "-q", "600", "-t", "3s", "-c", "32")
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
