"""The real thing, for a moment; `tests/end_to_end/test_live.py` has searches on it, and what kills it."""

from __future__ import annotations

import pwd
import shlex
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.applications import EACH, need_program
from tests.support.needs import need, require
from tests.support.processes import descendants
from tests.support.rig import deferral_of

from bayop.applications.definition import find_application
from bayop.domains import Range
from bayop.errors import UnsupportedError
from bayop.experiments.rig.namespaces import LONGEST_US, MOST_POLLS, QPS, WINDOW_S, Rig
from bayop.experiments.rig.veth import SERVER_ADDRESS, process_cpu_s
from bayop.live.file import LiveFile
from bayop.space import DEFER_HARD_IRQS, GRO_FLUSH_TIMEOUT_US

pytestmark = pytest.mark.alone


@pytest.fixture(autouse=True)
def _possible() -> None:
    need("namespaces", "memcached")


def test_a_whole_machine_for_as_long_as_its_block(agent_binary: Path) -> None:
    with Rig(agent_binary, qps=3000.0, window_s=0.5) as rig:
        folder = rig.file.parent
        live = LiveFile.read(rig.file)
        assert live.ranges == {GRO_FLUSH_TIMEOUT_US: Range(0, LONGEST_US, 10), DEFER_HARD_IRQS: Range(1, MOST_POLLS)}
        assert (live.qps, live.window_s) == (3000.0, 0.5)
        assert live.load is not None
        assert live.load.plan.servers == (f"{SERVER_ADDRESS}:11211",)
        assert live.agent == str(rig.client.address)

        assert deferral_of(rig) == (0, 0)
        lease = rig.client.acquire("a test", 5.0)
        rig.client.apply({GRO_FLUSH_TIMEOUT_US: 50, DEFER_HARD_IRQS: 2}, lease=lease)
        assert deferral_of(rig) == (50_000, 2)
        rig.client.release(lease, keep=False)
        assert deferral_of(rig) == (0, 0)
        assert "a test" in rig.log()

        before_s = rig.service_cpu_s()
        assert 0.0 < before_s <= rig.service_cpu_s() < 10.0
        pids = [rig.service_pid, rig.agent_pid]
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    assert not folder.exists()
    with pytest.raises(UnsupportedError, match="memcached ended before the experiment"):
        rig.service_cpu_s()


def test_a_load_that_nobody_gives_is_the_applications_share_of_its_peak(agent_binary: Path) -> None:
    nginx = find_application("nginx")
    need_program(nginx)
    assert nginx.live is not None
    with Rig(agent_binary, qps=None, window_s=None, application=nginx) as rig:
        live = LiveFile.read(rig.file)
        assert live.qps == rig.qps > 100.0
        assert live.window_s == pytest.approx(max(WINDOW_S, nginx.live.window_requests / rig.qps), rel=1e-4)
    with Rig(agent_binary, qps=None, window_s=None) as rig:
        assert (rig.qps, LiveFile.read(rig.file).window_s) == (QPS, WINDOW_S)


def test_knobs_are_searched_in_the_ranges_of_the_application_unless_somebody_asks_for_more(agent_binary: Path) -> None:
    knobs = {GRO_FLUSH_TIMEOUT_US: "0:200:20", DEFER_HARD_IRQS: "all", "cpu.freq_mhz": "all"}
    application = replace(find_application("memcached"), knobs=knobs)
    own = Rig(agent_binary, qps=1.0, window_s=0.5, application=application)
    assert own.knobs == {GRO_FLUSH_TIMEOUT_US: "0:200:20", DEFER_HARD_IRQS: f"1:{MOST_POLLS}"}
    asked = Rig(agent_binary, qps=1.0, window_s=0.5, application=application, longest_us=800)
    assert asked.knobs == {GRO_FLUSH_TIMEOUT_US: "0:800:10", DEFER_HARD_IRQS: f"1:{MOST_POLLS}"}


@pytest.mark.parametrize("name", EACH)
def test_each_application_listens_as_nobody_and_ends_with_its_machine(name: str, agent_binary: Path) -> None:
    application = find_application(name)
    need_program(application)
    with Rig(agent_binary, qps=3000.0, window_s=0.5, application=application) as rig:
        live = LiveFile.read(rig.file)
        assert live.load is not None
        plan = live.load.plan
        assert (plan.servers, plan.dialect) == ((f"{SERVER_ADDRESS}:{application.port}",), application.protocol)
        assert Path(f"/proc/{rig.service_pid}").stat().st_uid == pwd.getpwnam("nobody").pw_uid
        assert rig.service_cpu_s() > 0.0
        pids = [rig.service_pid, *descendants(rig.service_pid)]
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_what_a_service_has_started_counts_and_ends_with_it(agent_binary: Path) -> None:
    """The one that listens is a child here, and in a session of its own."""
    memcached = find_application("memcached")
    shell = ("bash", "-c", f"setsid {shlex.join(memcached.start)} & wait")
    with Rig(agent_binary, qps=3000.0, window_s=0.5, application=replace(memcached, start=shell)) as rig:
        pids = [rig.service_pid, *descendants(rig.service_pid)]
        assert len(pids) == 2
        before_s, taken_s = rig.service_cpu_s(), process_cpu_s(pids[1])
        assert 0.0 < taken_s < before_s
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_what_has_ended_meanwhile_counts_too(agent_binary: Path) -> None:
    """As a PostgreSQL has a process for each connection."""
    memcached = find_application("memcached")
    burn = 'ends = __import__("time").process_time() + 0.2\nwhile __import__("time").process_time() < ends: pass'
    shell = ("bash", "-c", f"/usr/bin/python3 -c {shlex.quote(burn)}; exec {shlex.join(memcached.start)}")
    with Rig(agent_binary, qps=3000.0, window_s=0.5, application=replace(memcached, start=shell)) as rig:
        require(rig.service().counted.startswith("cpu.stat"), "no control group can be made here", "")
        assert rig.service_cpu_s() > process_cpu_s(rig.service_pid) + 0.15


def test_an_application_that_ends_at_once_says_what_it_said(agent_binary: Path) -> None:
    application = replace(find_application("redis"), start=("bash", "-c", "echo no room >&2; exit 1"))
    with pytest.raises(UnsupportedError, match="redis does not listen") as caught:
        Rig(agent_binary, qps=1.0, window_s=0.5, application=application).__enter__()
    assert caught.value.hint == "no room"


def test_an_agent_that_does_not_start_says_why_and_leaves_nothing() -> None:
    rig = Rig(Path("/bin/false"), qps=1.0, window_s=0.5)
    started = time.monotonic()
    with pytest.raises(UnsupportedError, match="the agent does not start") as caught, rig:
        pytest.fail("there is no machine")
    assert caught.value.exit_code == 4
    assert time.monotonic() - started < 5.0, "what has ended is not waited for"
    assert not Path(f"/proc/{rig.service_pid}").exists()


def test_an_agent_that_is_no_program_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"cannot use .*: the agent must be a program") as caught:
        Rig(tmp_path / "bayop-agent", qps=1.0, window_s=0.5)
    assert caught.value.hint == "cargo build -p bayop-agent"


def test_a_machine_without_the_programs_says_what_to_install(
    agent_binary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnsupportedError, match="two network namespaces: ip, ethtool") as caught:
        Rig(agent_binary, qps=1.0, window_s=0.5)
    assert "apt-get install" in str(caught.value.hint)
