"""Fixtures that every test may use."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from bayop.live.veth import VethPair
from bayop.live.veth import missing as missing_for_veth
from bayop.testing.agents import AgentProcess, Machine
from bayop.testing.prometheus import Exporter, Prometheus

# As the command line does: the matrices are small, and threads of two libraries only fight over the cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A background job of a shell ignores Ctrl-C, and so would the processes that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A property does not say how long an example takes, and a busy machine is slow. In CI the examples are the same every
# time, so that what fails is what was changed.
settings.register_profile("anew", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci" if "CI" in os.environ else "anew")

pytest.register_assert_rewrite("bayop.testing.latencies", "bayop.testing.optimizers", "bayop.testing.targets")

_SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of published data and scoring scripts, beside the repository."""
    if not _SHARED.is_dir():
        pytest.fail(
            f"these tests read the published data in {_SHARED}: put the folder `shared` beside the repository",
            pytrace=False,
        )
    return _SHARED


@pytest.fixture(scope="session")
def data(shared: Path) -> Path:
    """The published studies and traces."""
    return shared / "data"


@pytest.fixture(scope="session")
def agent_binary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real `bayop-agent` with its fault points; BAYOP_AGENT names one that was built before, as by `cargo test`."""
    root = Path(__file__).resolve().parent.parent
    release = Path(os.environ.get("CARGO_TARGET_DIR", root / "target")) / "release"
    built = Path(os.environ.get("BAYOP_AGENT", release / "bayop-agent"))
    if "BAYOP_AGENT" not in os.environ:
        build = ["cargo", "build", "--release", "--locked", "--quiet", "--package", "bayop-agent"]
        subprocess.run([*build, "--features", "fault-points"], cwd=root, check=True)
    # A copy: the test of the package builds another one in its place.
    return Path(shutil.copy2(built, tmp_path_factory.mktemp("agent")))


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """A recorded machine whose power meter runs."""
    (tmp_path / "root").mkdir()
    with Machine(tmp_path / "root") as machine:
        yield machine


@pytest.fixture
def agent(agent_binary: Path, tmp_path: Path, machine: Machine) -> Iterator[AgentProcess]:
    """The real agent on the recorded machine."""
    with AgentProcess(agent_binary, tmp_path, machine.root) as agent:
        yield agent


@pytest.fixture(scope="session")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A real Prometheus that scrapes 2000 requests/s: a half within 100 us, 90 % in 200 us, 99 % in 500 us."""
    require(Prometheus.is_installed(), "prometheus is not installed: apt-get install prometheus")
    with (
        Exporter((0.5, 0.4, 0.09, 0.01, 0.0), qps=1000.0) as exporter,
        Prometheus(tmp_path_factory.mktemp("prometheus"), target=exporter.address) as server,
    ):
        yield server


@pytest.fixture(scope="session")
def probe_binary() -> Path:
    """The real eBPF probe; BAYOP_PROBE names one that stands elsewhere. It is built by `make probe`, not by tests."""
    root = Path(__file__).resolve().parent.parent
    target = Path(os.environ.get("CARGO_TARGET_DIR", root / "target"))
    binary = Path(os.environ.get("BAYOP_PROBE", target / "release" / "bayop-probe"))
    require(binary.exists(), "the eBPF probe is not built: make probe")
    return binary


@pytest.fixture(scope="session")
def veth_pair() -> Iterator[VethPair]:
    """A memcached behind a device that defers its interrupts, and its clients' namespace."""
    reason = missing_for_veth() or (None if shutil.which("memcached") else "memcached is not installed")
    require(reason is None, str(reason))
    with VethPair() as pair:
        pair.memcached()
        yield pair


def require(there: bool, reason: str) -> None:  # noqa: FBT001 -- reads as an assertion
    """Skips a test that this machine can't run, and says why; where everything must run, that is a failure."""
    if not there:
        (pytest.fail if "BAYOP_NO_SKIP" in os.environ else pytest.skip)(reason)
