"""`bayop export`: what the agent holds, and the script on a recorded machine's files, by the shells that Debian has."""

from __future__ import annotations

import json
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
from tests.support.agents import AgentProcess
from tests.support.needs import need
from tests.support.patience import eventually

from bayop import _core
from bayop.cli import main
from bayop.control.ledger import LedgerWindow
from bayop.state.store import Store

TREE = Path(__file__).resolve().parents[1] / "machines" / "intel-acpi-cpufreq.tree"
SETTING = ["nic.rx_usecs@eth0=100us", "cpu.freq_mhz=2.1GHz", "idle.governor=teo"]
POLICY = "sys/devices/system/cpu/cpufreq/policy0"
# A device with one parameter, as ethtool 6.1 shows it and takes it.
ETHTOOL = """#!/bin/sh
case $1 in
-c) printf 'Adaptive RX: n/a  TX: n/a\\nrx-usecs:\\t%s\\nrx-frames:\\tn/a\\n' "$(cat DELAY)" ;;
-C) echo "$4" >DELAY ;;
esac
"""
INSIDE = """set -e
mount --bind "$1/sys" /sys
mount --bind "$1/run" /run
shift
BROKEN
exec env PATH="$PROGRAMS:$PATH" "$@"
"""


class Recorded:
    """A recorded machine, whose files stand in for /sys in a mount namespace; what is written stays."""

    def __init__(self, folder: Path, shell: list[str]) -> None:
        need("root", "namespaces", "unshare")
        _core.unpack_machine(TREE.read_text(encoding="utf-8"), folder)
        self.folder, self.shell = folder, shell
        self.delay = folder / "delay"
        self.delay.write_text("3\n", encoding="ascii")
        for name in ("run", "programs"):
            (folder / name).mkdir()
        ethtool = folder / "programs" / "ethtool"
        ethtool.write_text(ETHTOOL.replace("DELAY", str(self.delay)), encoding="utf-8")
        ethtool.chmod(0o755)

    def start(self, script: Path, verb: str, broken: str = "") -> subprocess.Popen[str]:
        words = ["sh", "-c", INSIDE.replace("BROKEN", broken), "sh", str(self.folder), *self.shell, str(script), verb]
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "PROGRAMS": str(self.folder / "programs")}
        return subprocess.Popen(["unshare", "--mount", *words], env=environment, stderr=subprocess.PIPE, text=True)

    def run(self, script: Path, verb: str, broken: str = "") -> tuple[int, str]:
        with self.start(script, verb, broken) as process:
            _, stderr = process.communicate()
        return process.returncode, stderr

    def state(self) -> dict[str, str]:
        """All of its files, and its device."""
        files = {
            str(path): path.read_text(encoding="utf-8") for path in self.folder.rglob("sys/**/*") if path.is_file()
        }
        return files | {"delay": self.delay.read_text(encoding="ascii")}

    def read(self, name: str) -> str:
        return (self.folder / POLICY / name).read_text(encoding="ascii").strip()


@pytest.fixture(params=["dash", "bash --posix"])
def recorded(request: pytest.FixtureRequest, tmp_path: Path) -> Recorded:
    return Recorded(tmp_path / "machine", request.param.split())


@pytest.fixture
def script(tmp_path: Path) -> Path:
    out = tmp_path / "setting.sh"
    assert main(["export", *SETTING, "--as", "script", "--out", str(out)]) == 0
    return out


def test_what_it_applies_it_undoes(recorded: Recorded, script: Path) -> None:
    original = recorded.state()
    assert recorded.run(script, "apply") == (0, "")
    assert (recorded.delay.read_text(encoding="ascii"), recorded.read("scaling_max_freq")) == ("100\n", "2100000")
    assert (recorded.read("scaling_min_freq"), recorded.state()["delay"]) == ("2100000", "100\n")
    code, stderr = recorded.run(script, "apply")
    assert (code, "an export is applied already" in stderr) == (1, True), "else the originals would be lost"
    assert recorded.run(script, "undo") == (0, "")
    assert recorded.state() == original
    assert [*(recorded.folder / "run").iterdir()] == []
    assert recorded.run(script, "undo") == (1, "error: nothing is applied\n")


def test_all_that_is_otherwise_is_said(recorded: Recorded, script: Path) -> None:
    code, stderr = recorded.run(script, "verify")
    said = stderr.splitlines()
    assert (code, len(said)) == (1, 6), "one a line: the delay, two bounds of two policies, and the governor"
    assert "error: rx-usecs of eth0 is 3 and not 100" in said
    found = recorded.read("scaling_max_freq")
    assert f"error: /{POLICY}/scaling_max_freq has {found} and not 2100000" in said
    assert recorded.run(script, "apply") == (0, "")
    assert recorded.run(script, "verify") == (0, "")


def test_to_verify_needs_no_root_and_goes_on_where_it_may_not_read(script: Path) -> None:
    need("root")
    with tempfile.TemporaryDirectory() as folder:
        cpu = Path(folder)
        for name, what in (("cpufreq/policy0/scaling_max_freq", "1200000"), ("cpuidle/current_governor", "menu")):
            (cpu / name).parent.mkdir(parents=True)
            (cpu / name).write_text(what, encoding="ascii")
        cpu.chmod(0o755)
        secret, governor = cpu / "cpufreq/policy0/scaling_max_freq", cpu / "cpuidle/current_governor"
        secret.chmod(0o200)
        text = script.read_text(encoding="utf-8").replace("/sys/devices/system/cpu", folder)
        words = ["sh", "-s", "verify"]
        run = subprocess.run(words, input=text, user="nobody", capture_output=True, text=True, check=False)
    said = [line for line in run.stderr.splitlines() if line.startswith("error: ")]
    least = f"this machine has no {cpu}/cpufreq/policy*/scaling_min_freq"
    expected = [f"cannot read {secret}", least, f"{governor} has menu and not teo"]
    assert (run.returncode, said[-3:]) == (1, [f"error: {what}" for what in expected])
    other = subprocess.run(["sh", "-s", "undo"], input=text, user="nobody", capture_output=True, text=True, check=False)
    assert (other.returncode, "only root may do this" in other.stderr) == (1, True)


def test_when_a_write_fails_all_is_put_back(recorded: Recorded, script: Path) -> None:
    original = recorded.state()
    governor = "/sys/devices/system/cpu/cpuidle/current_governor"
    read_only = f"mount --bind {governor} {governor} && mount -o remount,bind,ro {governor}"
    code, stderr = recorded.run(script, "apply", broken=read_only)
    assert code == 1
    assert stderr.endswith(f"error: cannot write teo to {governor}\n")
    assert recorded.state() == original


def test_hold_ends_with_a_signal_and_undoes(recorded: Recorded, script: Path) -> None:
    original = recorded.state()
    with recorded.start(script, "hold") as process:
        assert eventually(lambda: recorded.read("scaling_min_freq") == "2100000", within_s=20)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    assert recorded.state() == original


def test_shellcheck_has_nothing_to_say(script: Path) -> None:
    need("shellcheck")
    run = subprocess.run(["shellcheck", script], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (0, "")


def test_nothing_is_overwritten(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", *SETTING, "--as", "script", "--out", str(script)]) == 2
    assert f"{script} is there already" in capsys.readouterr().err


def test_what_the_agent_holds_is_exported_with_its_places(
    agent: AgentProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "--as", "script", "--agent", agent.address]) == 2
    assert f"the agent at {agent.address} holds nothing" in capsys.readouterr().err
    lease = agent.client.acquire("a test", 10.0)
    agent.client.apply({"power.cap_w": 90, "nic.rx_usecs": 100}, lease=lease)
    assert main(["export", "--as", "script", "--agent", agent.address, "--json"]) == 0
    event = json.loads(capsys.readouterr().out)
    assert event["setting"] == {"nic.rx_usecs@eth0": 100, "power.cap_w@intel-rapl:0/0": 90}
    agent.client.release(lease, keep=False)


def test_the_agent_of_a_file_knows_the_places(
    agent: AgentProcess, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bayop.toml"
    file.write_text(
        f'[service.web]\nagent = "{agent.address}"\nlatency = "http://localhost:1?query=x"\nslo = "p99<500us"\n'
        'mode = "advise"\n',
        encoding="utf-8",
    )
    with Store(tmp_path / "bayop.db") as store:
        held = LedgerWindow(100.0, 60.0, "hold", {"power.cap_w": 90.0}, 5000.0, 90.0, 178.0, 0.004, meets_slo=True)
        store.add_window("web", held)
    argv = ["export", str(file), "web", "--as", "script", "--json"]
    assert main(argv) == 2
    assert "power.cap_w has no place" in capsys.readouterr().err
    lease = agent.client.acquire("a test", 10.0)
    agent.client.apply({"power.cap_w": 80}, lease=lease)
    assert main(argv) == 0
    assert json.loads(capsys.readouterr().out)["setting"] == {"power.cap_w@intel-rapl:0/0": 90}
    agent.client.release(lease, keep=False)
