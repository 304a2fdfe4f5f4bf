"""smoltcp in the place of the library OS's TCP, as the benchmark boots it."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from bench.libos.apps import APPS, MEMCACHED, App
from bench.libos.images import boot, build_smoltcp
from tests.support.needs import need
from tests.support.servers import result_of

from bayop.experiments.rig.veth import Namespace
from lab.libos import LibraryOs

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def image() -> Path:
    """It, as its sources are now."""
    need("qemu-system-x86_64", "setpriv")
    return build_smoltcp()


def test_what_was_stored_is_found_again_by_later_connections_even_where_no_socket_holds_it_whole(image: Path) -> None:
    value = b"0123456789" * 100_000
    with LibraryOs(kernel=boot(image, MEMCACHED, "10.0.2.15")) as machine:
        host, port = machine.address(MEMCACHED.port).split(":")
        for connection in range(1, 4):
            with socket.create_connection((host, int(port)), timeout=10) as client, client.makefile("rb") as answers:
                client.sendall(b"set key 0 0 5\r\nvalue\r\nget key\r\n")
                assert [answers.readline() for _ in range(4)] == [
                    *(b"STORED\r\n", b"VALUE key 0 5\r\n", b"value\r\n", b"END\r\n")
                ]
                client.sendall(b"set large 0 0 %d\r\n%s\r\nget large\r\nstats\r\n" % (len(value), value))
                assert [answers.readline() for _ in range(2)] == [b"STORED\r\n", b"VALUE large 0 1000000\r\n"]
                assert answers.read(len(value) + 7) == value + b"\r\nEND\r\n"
                assert b"STAT total_connections %d\r\n" % connection in iter(answers.readline, b"END\r\n")
                client.sendall(b"quit\r\n")
                client.shutdown(socket.SHUT_WR)
                answers.read()
        assert machine.is_up, machine.console


@pytest.mark.needs("namespaces")
@pytest.mark.parametrize("app", APPS.values(), ids=lambda app: app.name)
def test_each_service_that_is_counted_answers_on_a_thousand_connections(image: Path, app: App) -> None:
    need("ip")
    namespace = Namespace()
    try:
        with LibraryOs(inside=namespace.command([]), kernel=boot(image, app)) as machine:
            words = f"load -s {machine.address(app.port)} {app.load} -q 200 -t 2s -c 1000 --json".split()
            command = namespace.command([sys.executable, "-m", "bayop", *words])
            run = subprocess.run(command, capture_output=True, text=True, check=False)
            counts = result_of(run)["counts"]
            assert counts["answered"] == counts["intended"], run.stderr
            assert machine.is_up, machine.console
    finally:
        namespace.close()
