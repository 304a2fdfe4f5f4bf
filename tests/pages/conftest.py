"""What the pages' blocks need: each fixture brings one thing or skips the test with the reason."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest
from tests.pages.blocks import ROOT, Block, blocks_of
from tests.pages.reader import Reader, copy_repository
from tests.support.agents import ALLOWED, AgentProcess, Machine
from tests.support.interrupt_logs import ebbrt_run, linux_run, write_files
from tests.support.needs import need, require
from tests.support.twin_captures import write_twin_captures

from lab import missing as missing_for_lab

_BROUGHT: Final = (
    "agent",
    "agent_program",
    "captures",
    "extras",
    "lab",
    "network",
    "published",
    "raw_logs",
    "recorder",
    "root",
    "service",
)

_AS_A_SERVER: Final = """
mount -t tmpfs tmpfs /run
mkdir /run/bayop
ln -s "$0/agent.sock" "$0/latency.sock" /run/bayop
echo '10.0.0.1 web1' >"$0/hosts"
mount --bind "$0/hosts" /etc/hosts
ip link set lo up
for address in 10.0.0.1 10.0.0.11 10.0.0.12; do ip address add $address/32 dev lo; done
exec "$@"
"""
"""Makes namespaces a machine: the agent's sockets where they are on a server, and the addresses that pages name."""


@pytest.fixture(scope="session")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of the repository."""
    # pytest's folders are closed to nobody, as whom services run.
    with TemporaryDirectory(prefix="bayop-pages-") as programs:
        Path(programs).chmod(0o755)
        yield copy_repository(tmp_path_factory.mktemp("pages"), Path(programs))


@pytest.fixture(scope="session")
def server(clone: Path) -> Path:
    """The folder of the agent that pages find at /run/bayop/agent.sock."""
    folder = clone.parent / "server"
    folder.mkdir()
    return folder


@pytest.fixture(scope="session")
def reader_of(clone: Path, server: Path) -> Iterator[Callable[[str], Reader]]:
    """The reader of a page, by the page's name; where one of its blocks needs that, on a machine of its own."""
    readers: dict[str, Reader] = {}

    def of(page: str) -> Reader:
        if page not in readers:
            alone = any({"agent", "network", "service"} & set(block.needs) for block in blocks_of(ROOT / page))
            through = ["unshare", "--mount", "--net", "sh", "-c", _AS_A_SERVER, str(server)]
            readers[page] = Reader(ROOT / page, clone, through=through if alone and os.geteuid() == 0 else ())
        return readers[page]

    yield of
    for reader in readers.values():
        reader.close()


@pytest.fixture
def reader(block: Block, reader_of: Callable[[str], Reader], request: pytest.FixtureRequest) -> Reader:
    """The reader of the block's page, who has what the block needs."""
    for name in block.needs:
        if name in _BROUGHT:
            request.getfixturevalue(name)
        else:
            need(name)
    reader = reader_of(block.page)
    for name in {"captures", "raw_logs"} & set(block.needs):
        reader.bring(request.getfixturevalue(name))
    if "service" in block.needs:
        reader.start("memcached -l web1 -U 0 &")
    return reader


@pytest.fixture(scope="session")
def root() -> None:
    """Root, for what makes namespaces or installs."""
    need("root")


@pytest.fixture(scope="session")
def network(root: None) -> None:  # noqa: ARG001 -- a fixture that needs another
    """A machine of the page's own, on which the addresses and ports that it names are free."""
    need("ip")


@pytest.fixture(scope="session")
def service(network: None) -> None:  # noqa: ARG001 -- a fixture that needs another
    """A memcached on web1."""
    need("memcached")


@pytest.fixture(scope="session")
def published(shared: Path) -> None:
    """The published measurements, in ../shared/data."""
    assert (shared / "data").is_dir()


@pytest.fixture(scope="session")
def extras() -> None:
    """The papers' optimizer and Ray."""
    need("ax", "ray", "torch")


@pytest.fixture(scope="session")
def lab() -> None:
    """What the lab is made of."""
    reason = missing_for_lab()
    require(reason is None, str(reason), "lab/install-packages")


@pytest.fixture(scope="session")
def recorder(
    root: None,  # noqa: ARG001 -- a fixture that needs another
    idle_recorder: Path,
    idle_counter: Path,
    interrupts_recorder: Path,
    clone: Path,
) -> None:
    """The recorders on the path, and where they are built."""
    built = clone / "target" / "release"
    built.mkdir(parents=True, exist_ok=True)
    for folder in (clone.parent / "bin", built):
        for program in (idle_recorder, idle_counter, interrupts_recorder):
            if not (folder / program.name).exists():  # the repository that was copied may have built it
                (folder / program.name).symlink_to(program)


@pytest.fixture(scope="session")
def agent_program(agent_binary: Path, clone: Path) -> None:
    """`bayop-agent` on the path."""
    (clone.parent / "bin" / "bayop-agent").symlink_to(agent_binary)


@pytest.fixture(scope="session")
def agent(network: None, agent_binary: Path, server: Path) -> Iterator[None]:  # noqa: ARG001 -- a fixture needs another
    """The real agent on a recorded machine, which has the NIC and the P-states of the papers' server."""
    with Machine(server / "root") as machine:
        tree = (ROOT / "tests" / "machines" / "intel-acpi-cpufreq.tree").read_text(encoding="utf-8")
        for path, text in re.findall(r"^=== (\S+/policy0/\S+).*\n((?:(?!===).*\n)*)", tree, re.MULTILINE):
            machine.write(path, text.rstrip())
        allow = ALLOWED | {"cpu.freq_mhz": 'places = ["*"]'}
        with AgentProcess(agent_binary, server, machine.root, allow=allow):
            yield


@pytest.fixture(scope="session")
def raw_logs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Folders of raw logs, as the authors' scripts collect them: one of runs on Linux, and one of a run on EbbRT."""
    folder = tmp_path_factory.mktemp("raw_logs")
    linux = linux_run("0_50_0x1d00_135_200000") | linux_run("0_1_0xffff_135_200000")
    return {
        "10_29_2020": write_files(folder / "linux", linux),
        "ebbrt/mcdsilo": write_files(folder / "silo", ebbrt_run(cores=15)),
    }


@pytest.fixture(scope="session")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """A folder of captures, of a server that is a twin."""
    folder = tmp_path_factory.mktemp("captures")
    write_twin_captures(folder)
    return {"logs": folder / "logs"}
