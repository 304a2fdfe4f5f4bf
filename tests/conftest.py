"""Fixtures that every test may use."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from tests.support import needs
from tests.support.agents import AgentProcess, Machine
from tests.support.needs import need, require
from tests.support.prometheus import Exporter, Prometheus

from bayop import errors
from bayop.errors import BayopError
from bayop.experiments.rig.veth import SERVER_ADDRESS, VethPair

# As the command line does: the matrices are small, and threads of two libraries only fight over the cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Nobody's own defaults reach the tests; what the tests themselves are told is named BAYOPTEST_.
os.environ["XDG_CONFIG_HOME"] = str(Path(tempfile.gettempdir(), f"bayop-tests-{os.getuid()}"))
for _name in [name for name in os.environ if name.startswith("BAYOP_")]:
    del os.environ[_name]

# A background job of a shell ignores Ctrl-C, and so would the processes that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A property does not say how long an example takes, and a busy machine is slow. In CI the examples are the same every
# time, so that what fails is what was changed.
settings.register_profile("anew", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci" if "CI" in os.environ else "anew")

pytest.register_assert_rewrite("bayop.testing.latencies", "bayop.testing.optimizers", "bayop.testing.targets")

_ROOT = Path(__file__).resolve().parent.parent
_SHARED = _ROOT.parent / "shared"
_RELEASE = Path(os.environ.get("CARGO_TARGET_DIR", _ROOT / "target")) / "release"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of published data and scoring scripts, beside the repository."""
    require(_SHARED.is_dir(), "the published data are not in ../shared", "put the folder shared beside this one")
    return _SHARED


@pytest.fixture(scope="session")
def data(shared: Path) -> Path:
    """The published studies and traces."""
    return shared / "data"


@pytest.fixture(scope="session")
def agent_binary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real `bayop-agent` with its fault points; BAYOPTEST_AGENT_PROGRAM names one that was built before."""
    built = Path(os.environ.get("BAYOPTEST_AGENT_PROGRAM", _RELEASE / "bayop-agent"))
    if "BAYOPTEST_AGENT_PROGRAM" not in os.environ:
        build = ["cargo", "build", "--release", "--locked", "--quiet", "--package", "bayop-agent"]
        subprocess.run([*build, "--features", "fault-points"], cwd=_ROOT, check=True)
    # A copy: the test of the package builds another one in its place.
    return Path(shutil.copy2(built, tmp_path_factory.mktemp("agent")))


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """A recorded machine whose power meter runs."""
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
    need("prometheus")
    with (
        Exporter((0.5, 0.4, 0.09, 0.01, 0.0), qps=1000.0) as exporter,
        Prometheus(tmp_path_factory.mktemp("prometheus"), target=exporter.address) as server,
    ):
        yield server


@pytest.fixture(scope="session")
def probe_binary() -> Path:
    """The real eBPF probe; BAYOPTEST_PROBE names one that stands elsewhere. `make probe` builds it, not tests."""
    return _built(Path(os.environ.get("BAYOPTEST_PROBE", _RELEASE / "bayop-probe")), "probe")


def _built(binary: Path, what: str) -> Path:
    require(binary.exists(), f"the eBPF {what} is not built", "make probe")
    return binary


@pytest.fixture(scope="session")
def idle_recorder(probe_binary: Path) -> Path:
    """The real eBPF recorder of idle periods, which is built with the probe."""
    return _built(probe_binary.with_name("bayop-idle-record"), "recorder of idle periods")


@pytest.fixture(scope="session")
def idle_counter(probe_binary: Path) -> Path:
    """The real eBPF counter of stays in idle states, which is built with the probe."""
    return _built(probe_binary.with_name("bayop-idle-count"), "counter of stays in idle states")


@pytest.fixture(scope="session")
def idle_balancer(probe_binary: Path) -> Path:
    """The real eBPF balancer of awakened work, which is built with the probe."""
    return _built(probe_binary.with_name("bayop-idle-balance"), "balancer of awakened work")


@pytest.fixture(scope="session")
def interrupts_recorder(probe_binary: Path) -> Path:
    """The real eBPF recorder of interrupts, which is built with the probe."""
    return _built(probe_binary.with_name("bayop-interrupts-record"), "recorder of interrupts")


@pytest.fixture(scope="session")
def veth_pair() -> Iterator[VethPair]:
    """A memcached behind a device that defers its interrupts, and its clients' namespace."""
    need("namespaces", "memcached")
    with VethPair() as pair:
        pair.memcached()
        yield pair


@pytest.fixture
def loaded_pair(veth_pair: VethPair) -> Iterator[VethPair]:
    """The pair under a load of 2000 requests/s."""
    words = f"{sys.executable} -m bayop load -s {SERVER_ADDRESS} -q 2000 -c 4 --noload --time 60s --blocking".split()
    quiet = subprocess.DEVNULL
    with subprocess.Popen(veth_pair.client.command(words), stdout=quiet, stderr=quiet) as load:
        time.sleep(1.5)
        yield veth_pair
        load.kill()


@pytest.fixture(autouse=True)
def _needs(request: pytest.FixtureRequest) -> None:
    """Skips a test marked `needs` whose needs are not here."""
    for marker in request.node.iter_markers("needs"):
        need(*marker.args)


@pytest.fixture(scope="session")
def ill_said() -> Iterator[list[str]]:
    """The errors since the list was cleared that don't say what is wrong, or state a rule without "must".

    Only what the sources make is judged. Tests, and libraries that unpickle, make what they like: what they called a
    rule is left out, also where the sources copy it.
    """
    messages: list[str] = []
    foreign: set[str | None] = set()
    initialise = BayopError.__init__

    def judged(error: BayopError, rule: str | None = None, **parts: Any) -> None:
        initialise(error, rule, **parts)
        alone = error.wrong is None and error.value is None
        if not alone and (rule is None or " must " in f" {rule} "):
            return
        frame = _maker(error, sys._getframe(1))
        file = Path(frame.f_code.co_filename)
        if not any(file.is_relative_to(_ROOT / folder) for folder in ("python", "lab", "bench")):
            foreign.add(rule)
        elif rule not in foreign:
            messages.append(f"{file.relative_to(_ROOT)}:{frame.f_lineno}: {error.message}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BayopError, "__init__", judged)
        yield messages


def _maker(error: BayopError, frame: FrameType) -> FrameType:
    """The frame that asked for the error: neither a constructor of it nor errors.py, which copies."""
    while frame.f_code.co_filename == errors.__file__ or frame.f_locals.get("self") is error:
        assert frame.f_back
        frame = frame.f_back
    return frame


@pytest.fixture(autouse=True)
def _errors_say_what_is_wrong(ill_said: list[str]) -> Iterator[None]:
    """Fails the test in which an error was made that does not say what is wrong, or states a rule as a fact."""
    ill_said.clear()
    yield
    assert not ill_said, "errors must say what is wrong, and their rules must:\n" + "\n".join(ill_said)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Leaves to `make` what did not run."""
    needs.note(report.longrepr[2] for report in terminalreporter.stats.get("skipped", []))
