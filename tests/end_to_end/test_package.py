"""The Debian package in a clean Debian, whose own systemd runs the unit: installed, used, removed without a trace."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.pages.blocks import blocks_of
from tests.support.clean_debian import CURL, Machine, clean_root, own_release
from tests.support.needs import program, require

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
BUILD = ROOT / "build"
VERSION: str = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
DEB = "/root/bayop-agent.deb"
PAGE = ROOT / "docs/install.md"
OWN = "tests/end_to_end/test_package.py"
# What the page's reader has beside what the server has: root's rights, an editor that is left as it is, and a package
# that is built already; apt asks nobody.
READERS = {
    "usr/local/bin/sudo": '#!/bin/sh\nexec "$@"\n',
    "usr/local/bin/sudoedit": '#!/bin/sh\ntest -w "$1"\n',
    "usr/local/bin/make": '#!/bin/sh\ntest "$*" = deb -a -f build/bayop-agent_*.deb\n',
    "etc/apt/apt.conf.d/90yes": 'APT::Get::Assume-Yes "true";\n',
}
# The first run builds the agent and downloads a Debian.
pytestmark = [pytest.mark.slow, pytest.mark.weekly, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def package() -> Path:
    for helper in ("dh", "dh_apparmor"):
        require(program(helper) is not None, f"{helper} is not installed", "requirements/install-packages package")
    subprocess.run(["make", "deb"], cwd=ROOT, check=True)
    architecture = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True)
    return BUILD / f"bayop-agent_{VERSION}_{architecture.stdout.strip()}.deb"


@pytest.fixture(scope="module")
def machine(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    machine = Machine(clean_root(own_release()), tmp_path_factory.mktemp("machine"))
    shutil.copy(package, machine.path(DEB))
    yield machine
    machine.stop()


@pytest.fixture
def installed(machine: Machine) -> Iterator[Machine]:
    """The machine with the package as it comes; afterwards it is clean again."""
    machine.apt("install", DEB)
    yield machine
    machine.apt("purge", "bayop-agent")


def test_it_is_installed_with_a_group_and_neither_enabled_nor_started(installed: Machine) -> None:
    assert installed.run("getent", "group", "bayop").stdout.startswith("bayop:")
    assert installed.run("bayop-agent", "--version").stdout == f"bayop-agent {VERSION}\n"
    installed.run("bayop-agent", "check-config")
    modes = installed.run(
        "stat", "--format=%A %U:%G %n", "/etc/bayop/agent.toml", "/run/bayop", "/var/lib/bayop"
    ).stdout
    assert modes.splitlines() == [
        "-rw-r--r-- root:root /etc/bayop/agent.toml",
        "drwxr-xr-x root:bayop /run/bayop",
        "drwx------ root:root /var/lib/bayop",
    ]
    assert installed.run("systemctl", "is-enabled", "bayop-agent", check=False).stdout == "disabled\n"
    assert installed.unit("ActiveState") == "inactive"


def test_it_observes_and_talks_to_root_and_its_group_only(installed: Machine) -> None:
    installed.run("systemctl", "enable", "--now", "bayop-agent")
    ask = [*CURL, "http://agent/v1/status"]
    assert json.loads(installed.run(*ask).stdout)["mode"] == "observe"
    installed.run("useradd", "--groups=bayop", "alice")
    installed.run("useradd", "mallory")
    assert json.loads(installed.run("runuser", "--user=alice", "--", *ask).stdout)["version"] == VERSION
    attempt = installed.run("runuser", "--user=mallory", "--", *ask, check=False)
    assert (attempt.returncode, attempt.stdout) == (7, "")  # curl: could not connect


def test_who_follows_the_page_has_an_agent_and_none_at_its_end(machine: Machine, package: Path) -> None:
    for name, text in READERS.items():
        machine.path(f"/{name}").write_text(text, encoding="utf-8")
        machine.path(f"/{name}").chmod(0o755)
    machine.run("mkdir", "/root/build")
    shutil.copy(package, machine.path(f"/root/build/{package.name}"))
    steps = [step for block in blocks_of(PAGE) if block.clauses.get("run by") == OWN for step in block.steps()]
    inside = "PATH=/usr/local/bin:$PATH; cd /root\n"
    outputs = {step.command: machine.run("sh", "-c", f"{inside}{step.command}").stdout for step in steps}
    assert any('"mode":"observe"' in text.replace(" ", "") for command, text in outputs.items() if "curl" in command)
    assert any("bayop-agent.service: 2." in text for command, text in outputs.items() if "security" in command)
    assert machine.run("which", "bayop-agent", check=False).returncode == 1
    machine.run(
        "rm", "-r", "/root/build", "/etc/systemd/system/bayop-agent.service.d", *(f"/{name}" for name in READERS)
    )


def test_the_unit_is_hardened(installed: Machine) -> None:
    installed.run("systemd-analyze", "verify", "--man=no", "bayop-agent.service")
    installed.run("systemd-analyze", "security", "--offline=true", "--threshold=23", "bayop-agent.service")
    installed.run("systemctl", "start", "bayop-agent")
    # What the kernel holds the process to, not what the file says.
    status = installed.run("cat", f"/proc/{installed.unit('MainPID')}/status").stdout
    limits = dict(re.findall(r"^(\w+):\t(.*)$", status, re.MULTILINE))
    cap_net_admin = f"{1 << 12:016x}"
    assert [limits[name] for name in ("CapPrm", "CapBnd", "NoNewPrivs", "Seccomp")] == [cap_net_admin] * 2 + ["1", "2"]
    mounts = installed.run("cat", f"/proc/{installed.unit('MainPID')}/mountinfo").stdout
    writable = {
        point
        for point, flags in re.findall(r"^(?:\S+ ){4}(\S+) (\S+)", mounts, re.MULTILINE)
        if "rw" in flags.split(",")
    }
    # In the process's own folder systemd asks AppArmor for the profile; where it can't, the service starts without.
    own = f"/proc/{installed.unit('MainPID')}"
    assert {"/sys/devices", "/run/bayop", "/var/lib/bayop", own} <= writable
    assert not writable & {"/", "/proc", "/sys", "/etc"}


def test_what_the_hardened_agent_changed_is_put_back_when_it_is_killed(installed: Machine) -> None:
    installed.run("ip", "link", "add", "nic0", "type", "veth", "peer", "nic1")
    knob, attribute = "napi.gro_flush_timeout_us", "/sys/class/net/nic0/gro_flush_timeout"
    config = f'mode = "apply"\n[allow."{knob}"]\nplaces = ["nic0"]\n'
    installed.path("/etc/bayop/agent.toml").write_text(config, encoding="utf-8")
    # Without a restart, it can't be the next start that puts it back.
    installed.run("mkdir", "/run/systemd/system/bayop-agent.service.d")
    no_restart = installed.path("/run/systemd/system/bayop-agent.service.d/no-restart.conf")
    no_restart.write_text("[Service]\nRestart=no\n", encoding="ascii")
    installed.run("systemctl", "daemon-reload")
    installed.run("systemctl", "start", "bayop-agent")
    original = installed.run("cat", attribute).stdout

    lease = installed.post("lease", {"holder": "test", "ttl_s": 60})["lease"]
    installed.post("apply", {"lease": lease, "setting": {f"{knob}@nic0": 50}})
    assert installed.run("cat", attribute).stdout == "50000\n" != original
    installed.run("systemctl", "kill", "--signal=KILL", "bayop-agent")
    installed.wait_until(lambda: installed.unit("ActiveState") == "failed")
    assert installed.run("cat", attribute).stdout == original

    installed.run("ip", "link", "delete", "nic0")
    installed.run("rm", "-r", "/run/systemd/system/bayop-agent.service.d")
    installed.run("systemctl", "daemon-reload")


@pytest.mark.parametrize(
    ("drop_in", "name", "expected"),
    [
        ("msr", "CapabilityBoundingSet", "cap_net_admin cap_sys_rawio"),
        ("idle-states", "CapabilityBoundingSet", "cap_net_admin cap_sys_admin"),
        ("tcp", "IPAddressAllow", "192.0.2.0/24 127.0.0.0/8 ::1/128"),
    ],
)
def test_a_drop_in_opens_what_it_says(installed: Machine, drop_in: str, name: str, expected: str) -> None:
    place = f"/etc/systemd/system/bayop-agent.service.d/{drop_in}.conf"
    installed.run("install", "-D", "-m", "644", f"/usr/share/doc/bayop-agent/examples/{drop_in}.conf", place)
    installed.run("systemctl", "daemon-reload")
    installed.run("systemd-analyze", "verify", "--man=no", "bayop-agent.service")
    installed.run("systemctl", "start", "bayop-agent")
    assert set(installed.unit(name).split()) == set(expected.split())
    installed.run("rm", "-r", "/etc/systemd/system/bayop-agent.service.d")
    installed.run("systemctl", "daemon-reload")


def test_an_upgrade_restarts_it_only_if_it_ran(installed: Machine) -> None:
    installed.apt("install", "--reinstall", DEB)
    assert installed.unit("ActiveState") == "inactive"
    installed.run("systemctl", "start", "bayop-agent")
    before = installed.unit("MainPID")
    installed.apt("install", "--reinstall", DEB)
    assert installed.unit("ActiveState") == "active"
    assert installed.unit("MainPID") != before


def test_a_purge_leaves_nothing(machine: Machine) -> None:
    before = machine.files()
    machine.apt("install", DEB)
    machine.run("systemctl", "enable", "--now", "bayop-agent")
    assert "/usr/sbin/bayop-agent" in machine.files() - before
    machine.apt("purge", "bayop-agent")
    assert machine.files() - before == set()
    assert machine.run("getent", "group", "bayop", check=False).stdout == ""
    assert machine.run("pidof", "bayop-agent", check=False).stdout == ""


def test_a_purge_does_not_forget_what_is_left_to_undo(machine: Machine) -> None:
    machine.apt("install", DEB)
    machine.apt("remove", "bayop-agent")
    journal = machine.path("/var/lib/bayop/journal.damaged")
    journal.parent.mkdir(exist_ok=True)
    journal.write_text("torn", encoding="ascii")
    attempt = machine.apt("purge", "bayop-agent", check=False)
    assert attempt.returncode != 0
    assert "journal.damaged says what was changed and not put back" in attempt.stdout + attempt.stderr
    assert journal.exists()
    journal.unlink()
    machine.apt("purge", "bayop-agent")
    assert not journal.parent.exists()


def test_it_is_not_removed_while_something_may_be_left_changed(installed: Machine) -> None:
    installed.path("/var/lib/bayop/journal").write_text("torn", encoding="ascii")
    attempt = installed.apt("remove", "bayop-agent", check=False)
    assert attempt.returncode != 0
    assert "bayop-agent restore --print" in attempt.stdout
    assert (
        installed.run("dpkg-query", "--show", "--showformat=${db:Status-Status}", "bayop-agent").stdout == "installed"
    )
    installed.run("bayop-agent", "restore", "--discard-damaged", check=False)
    installed.apt("remove", "bayop-agent")


def test_a_build_for_tests_is_never_packed(agent_binary: Path, tmp_path: Path) -> None:
    version = subprocess.run([agent_binary, "--version"], capture_output=True, text=True, check=True).stdout
    assert version == f"bayop-agent {VERSION}+fault-points\n"
    packed = subprocess.run(
        [PACKAGING / "build-deb", agent_binary, tmp_path], capture_output=True, text=True, check=False
    )
    assert (packed.returncode, [*tmp_path.iterdir()]) == (2, [])
    assert "was built for tests" in packed.stderr


@pytest.fixture(scope="module")
def unpacked(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("package")
    subprocess.run(["dpkg-deb", "--extract", package, folder], check=True)
    return folder


def test_the_bill_of_materials_names_what_is_linked(unpacked: Path) -> None:
    bill = json.loads((unpacked / "usr/share/doc/bayop-agent/bayop-agent.cdx.json").read_text(encoding="utf-8"))
    named = {(c["name"], c["version"]) for c in [bill["metadata"]["component"], *bill["components"]]}
    tree = ["cargo", "tree", "--locked", "--edges", "normal", "--package", "bayop-agent"]
    lines = subprocess.run(tree, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert named == set(re.findall(r"([\w-]+) v(\d\S*)", lines))
    assert ("bayop-agent", VERSION) in named
    # The program says so itself: a panic names its place, in the folder of its crate.
    program = (unpacked / "usr/sbin/bayop-agent").read_bytes()
    panicking = re.findall(rb"/registry/src/[^/]+/([\w-]+?)-(\d+\.\d+\.\d+[^/]*)/", program)
    assert len(panicking) > 10
    assert {(name.decode(), version.decode()) for name, version in panicking} <= named


def test_the_bill_of_materials_has_sums_and_licences_and_is_the_same_again(unpacked: Path) -> None:
    text = (unpacked / "usr/share/doc/bayop-agent/bayop-agent.cdx.json").read_text(encoding="utf-8")
    for component in json.loads(text)["components"]:
        own = component["name"].startswith("bayop-")
        assert own or (len(component["hashes"][0]["content"]), component["purl"][:10]) == (64, "pkg:cargo/")
        assert component["licenses"][0]["expression"]
    again = [sys.executable, str(PACKAGING / "bill_of_materials.py"), "bayop-agent"]
    assert subprocess.run(again, capture_output=True, text=True, check=True).stdout == text


def test_the_changelog_has_the_version_that_cargo_has() -> None:
    changelog = (PACKAGING / "debian" / "changelog").read_text(encoding="utf-8")
    assert changelog.startswith(f"bayop ({VERSION}) ")


def test_the_manual_has_the_verbs_that_help_has(installed: Machine) -> None:
    usage = installed.run("bayop-agent", "--help").stdout
    verbs = set(re.findall(r"^  ([a-z-]+) ", usage, re.MULTILINE)) - {"help"}
    manual = (
        (PACKAGING / "bayop-agent.8").read_text(encoding="utf-8").partition(".SH FILES")[0].partition(".SH COMMANDS")[2]
    )
    assert verbs == set(re.findall(r"^\.TP\n\.B ([a-z-]+)$", manual, re.MULTILINE))


def test_the_examples_of_the_configuration_are_good(installed: Machine) -> None:
    config = installed.path("/etc/bayop/agent.toml")
    examples = re.sub(r"^#(?! )", "", config.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert set(tomllib.loads(examples)) == {
        "mode",
        "socket",
        "group",
        "state_dir",
        "tls",
        "roles",
        "allow",
        "idle",
        "interrupts",
    }
    config.write_text(examples, encoding="utf-8")
    tls = "/etc/bayop/tls"
    installed.run("mkdir", tls)
    certificate = ["openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    installed.run(*certificate, "-subj", "/CN=test", "-keyout", f"{tls}/agent.key", "-out", f"{tls}/agent.pem")
    installed.run("cp", f"{tls}/agent.pem", f"{tls}/clients.pem")
    installed.run("bayop-agent", "check-config")
    installed.run("rm", "-r", tls)
