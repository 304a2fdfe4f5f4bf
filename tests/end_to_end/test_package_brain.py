"""Both packages in clean Debians without compiler and network: installed, observing by one command, removed again."""

from __future__ import annotations

import json
import os
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
BUILD = ROOT / "build"
PACK = ROOT / "packaging" / "brain" / "build-deb"
VERSION: str = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
HERE = "here"
PYTHONS = {"bookworm": "3.11", "trixie": "3.13"}
DEBS = ["/root/bayop-agent.deb", "/root/bayop.deb"]
FILE = "/etc/bayop/bayop.toml"
PAGES = [ROOT / "docs/install.md", ROOT / "docs/operate.md"]
OWN = "tests/end_to_end/test_package_brain.py"
LATENCY = """#!/bin/sh
sleep "$BAYOP_WINDOW_S"
echo '{"vantage": "client", "p99_us": 310, "qps": 5000}'
"""

# Packs 400 MB, and installs them in a Debian that is downloaded by the first run.
pytestmark = [pytest.mark.slow, pytest.mark.weekly, pytest.mark.timeout(1500)]


@pytest.fixture(scope="module")
def architecture() -> str:
    run = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True)
    return run.stdout.strip()


@pytest.fixture(scope="module", params=os.environ.get("BAYOPTEST_DEBIANS", HERE).split())
def machine(
    request: pytest.FixtureRequest, architecture: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Machine]:
    """A Debian with the packages of both halves in /root, and nothing of them installed."""
    for helper in ("dh", "dh_apparmor", "strip"):
        require(program(helper) is not None, f"{helper} is not installed", "requirements/install-packages package")
    codename = own_release() if request.param == HERE else request.param
    minor = PYTHONS[codename]
    subprocess.run(["make", "deb", "deb-brain", f"DEB_PYTHON={minor}"], cwd=ROOT, check=True)
    root = clean_root(codename)
    machine = Machine(root, tmp_path_factory.mktemp("machine"))
    packed = [f"bayop-agent_{VERSION}_{architecture}.deb", f"bayop_{VERSION}+py{minor}_{architecture}.deb"]
    for name, place in zip(packed, DEBS, strict=True):
        shutil.copy(BUILD / name, machine.path(place))
    yield machine
    machine.stop()


@pytest.fixture(scope="module")
def before(machine: Machine) -> set[str]:
    """The files of the machine as it was."""
    return machine.files()


@pytest.fixture(scope="module")
def installed(machine: Machine, before: set[str]) -> Machine:
    """The machine with both packages."""
    assert before
    assert machine.run("which", "gcc", "cc", "pip", check=False).stdout == ""
    machine.apt("install", *DEBS)
    return machine


def test_a_user_s_verbs_work_without_network(installed: Machine) -> None:
    nobody = ["runuser", "--user=nobody", "--"]
    assert installed.run(*nobody, "bayop", "--version").stdout == f"bayop {VERSION}\n"
    tune = ["bayop", "tune", "--target", "study", "--data", "example:memcached", "--load", "600kqps", "--json"]
    lines = installed.run(*nobody, *tune).stdout.splitlines()
    result = json.loads(lines[-1])
    assert result["setting"]["nic.rx_usecs"] > 0
    installed.run("install", "--directory", "--owner=nobody", "/var/cache/demo")
    installed.run(*nobody, "bayop", "demo", "--hours", "1", "--out", "/var/cache/demo")
    assert "<svg" in installed.path("/var/cache/demo/report.html").read_text(encoding="utf-8")
    installed.run("rm", "-r", "/var/cache/demo")


def test_nothing_of_a_user_s_python_gets_in(installed: Machine) -> None:
    installed.path("/var/cache/numpy.py").write_text("raise SystemExit('mine')\n", encoding="ascii")
    asked = ["env", "PYTHONPATH=/var/cache", "sh", "-c", "cd /var/cache && bayop knobs"]
    assert "nic.rx_usecs" in installed.run(*asked).stdout
    installed.run("rm", "/var/cache/numpy.py")


def test_all_of_its_bytecode_is_there_and_goes_with_it(installed: Machine) -> None:
    sources = installed.run("find", "/usr/lib/bayop", "-name", "*.py").stdout.split()
    compiled = installed.run("find", "/usr/lib/bayop", "-name", "*.pyc").stdout.split()
    assert 0.95 * len(sources) < len(compiled) <= len(sources), "some are templates that no Python compiles"


def test_manuals_completion_rules_and_licences_are_there(installed: Machine) -> None:
    files = installed.run("dpkg-query", "--listfiles", "bayop").stdout.splitlines()
    for path in (
        "/usr/share/man/man1/bayop-tune.1.gz",
        "/usr/share/man/man1/bayop-export.1.gz",
        "/usr/share/bash-completion/completions/bayop",
        "/usr/share/zsh/vendor-completions/_bayop",
        "/usr/share/fish/vendor_completions.d/bayop.fish",
        "/usr/share/bayop/prometheus/bayop.rules.yml",
        "/usr/share/bayop/grafana/bayop.json",
    ):
        assert path in files
    copyrights = installed.path("/usr/share/doc/bayop/copyright").read_text(encoding="utf-8")
    bundled = {Path(path).name.partition("-")[0] for path in files if path.endswith(".dist-info")} - {"bayop"}
    assert len(bundled) == 20
    assert {name for name in bundled if f"/{name}-" not in copyrights} == set()
    for path in re.findall(r"^ (/usr/lib/bayop/[^\s*]+)$", copyrights, re.MULTILINE):
        assert path in files


def test_as_installed_it_is_off_and_names_no_service(installed: Machine) -> None:
    assert installed.run("systemctl", "is-enabled", "bayop", check=False).stdout == "disabled\n"
    attempt = installed.run("bayop", "run", FILE, "--check", check=False)
    assert (attempt.returncode, "the file names no service" in attempt.stderr) == (2, True)
    attempt = installed.run("bayop", "init", "--start", check=False)
    assert (attempt.returncode, "(--latency)" in attempt.stderr) == (2, True)


def test_one_command_makes_the_machine_observed(installed: Machine) -> None:
    installed.path("/usr/local/bin/p99").write_text(LATENCY, encoding="ascii")
    installed.run("chmod", "755", "/usr/local/bin/p99")
    said = installed.run("bayop", "init", "--start", "--latency", "/usr/local/bin/p99", "--slo", "p99<1ms").stdout
    assert "Observed: service" in said
    assert installed.run("bayop", "run", FILE, "--check").stdout.splitlines()[-1].endswith("p99 310 us")
    with installed.path(FILE).open("a", encoding="utf-8") as file:
        file.write("[service.service.policy]\nwatch_s = 1\n")
    installed.run("systemctl", "reload", "bayop")
    history = ["bayop", "history", FILE, "--of", "window", "--json"]
    installed.wait_until(lambda: '"latency_us": 310' in installed.run(*history).stdout)
    journal = ["journalctl", "--unit=bayop", "BAYOP_SERVICE=service", "--output=json"]
    assert "watching" in [json.loads(line)["BAYOP_EVENT"] for line in installed.run(*journal).stdout.splitlines()]
    (standing,) = map(json.loads, installed.run("bayop", "status", "--file", FILE, "--json").stdout.splitlines())
    assert (standing["mode"], standing["trouble"], standing["slo"]) == ("observe", None, "p99<1ms")
    attempt = installed.run("bayop", "init", "--start", check=False)
    assert (attempt.returncode, "names services already" in attempt.stderr) == (2, True)


def test_one_word_more_makes_it_advised(installed: Machine) -> None:
    """By a memcached that is one by its name, and a NIC that is half of a pair."""
    installed.run("ip", "link", "add", "server0", "type", "veth", "peer", "name", "client0")
    installed.run("ln", "--symbolic", "/usr/bin/python3", "/var/cache/memcached")
    installed.run("systemd-run", "--unit=memcached", "/var/cache/memcached", "-m", "http.server", "11211")
    installed.wait_until(lambda: ":11211" in installed.run("ss", "--listening", "--tcp", "--numeric").stdout)
    installed.run("systemctl", "stop", "bayop")
    file = installed.path(FILE)
    file.write_text(file.read_text(encoding="utf-8").partition("\n# Added by")[0], encoding="utf-8")
    asked = ["--mode", "advise", "--latency", "/usr/local/bin/p99", "--slo", "p99<1ms"]
    assert "Advised: memcached" in installed.run("bayop", "init", "--start", *asked).stdout
    said = installed.run("bayop", "run", FILE, "--check").stdout
    assert "would make advice of the twin linux-memcached" in said
    with file.open("a", encoding="utf-8") as text:
        text.write("[service.memcached.policy]\nwatch_s = 1\n")
    installed.run("systemctl", "reload", "bayop")
    installed.wait_until(lambda: "advice" in installed.run("bayop", "history", FILE, "--of", "event").stdout)
    assert '"held":[]' in installed.run(*CURL, "http://agent/v1/status").stdout.replace(" ", "")
    installed.run("systemctl", "stop", "memcached")
    installed.run("sh", "-c", "rm /var/cache/memcached; ip link delete server0")


def test_the_service_is_a_user_without_rights(installed: Machine) -> None:
    pid = installed.run("systemctl", "show", "--value", "--property=MainPID", "bayop").stdout.strip()
    status = installed.run("cat", f"/proc/{pid}/status").stdout
    limits = dict(re.findall(r"^(\w+):\s(.*)$", status, re.MULTILINE))
    assert [limits[name] for name in ("CapPrm", "CapBnd", "NoNewPrivs", "Seccomp")] == ["0" * 16] * 2 + ["1", "2"]
    uid = installed.run("id", "--user", "bayop-run").stdout.strip()
    assert set(limits["Uid"].split()) == {uid} != {"0"}
    installed.run("systemd-analyze", "security", "--threshold=16", "bayop")


def test_idle_states_are_governed_by_services(installed: Machine, idle_counter: Path) -> None:
    """docs/idle.md, with the machine's own kernel; its units leave the counter and the governor what they need."""
    installed.run("install", "--directory", "/var/cache/built/target/release")
    shutil.copy(idle_counter, installed.path("/var/cache/built/target/release"))
    inside = 'sudo() { "$@"; }; cd /var/cache/built\n'
    steps = [s for b in blocks_of(ROOT / "docs/idle.md") if b.clauses.get("run by") == OWN for s in b.steps()]
    for step in steps:
        installed.run("sh", "-c", f"{inside}{step.command}")
    asked = [*CURL, "http://agent/v1/idle"]
    installed.wait_until(lambda: "bayop idle govern" in installed.run(*CURL, "http://agent/v1/status").stdout)
    first, second = (json.loads(installed.run(*asked).stdout) for _ in range(2))
    assert first["began_s"] == second["began_s"], "the governor's own counting"
    assert second["duration_s"] > first["duration_s"]
    pid = installed.run("systemctl", "show", "--value", "--property=MainPID", "bayop-idle").stdout.strip()
    assert re.search(r"^CapPrm:\s0+$", installed.run("cat", f"/proc/{pid}/status").stdout, re.MULTILINE)
    installed.run("systemctl", "disable", "--now", "bayop-idle", "bayop-idle-counter.socket")
    assert installed.run("systemctl", "is-failed", "bayop-idle", check=False).stdout == "inactive\n"
    assert '"lease":null' in installed.run(*CURL, "http://agent/v1/status").stdout.replace(" ", "")
    installed.run("sh", "-c", "rm /etc/systemd/system/bayop-idle-counter* /usr/local/sbin/bayop-idle-count")


def test_an_upgrade_starts_anew_what_ran(installed: Machine) -> None:
    ask = ["systemctl", "show", "--value", "--property=MainPID", "bayop"]
    first = installed.run(*ask).stdout
    installed.apt("install", "--reinstall", DEBS[1])
    assert installed.run(*ask).stdout not in (first, "0\n")


def test_a_purge_leaves_nothing(installed: Machine, before: set[str]) -> None:
    installed.apt("purge", "bayop-agent")
    assert "bayop-run" in installed.run("getent", "group", "bayop").stdout, "the brain's group, too"
    installed.apt("purge", "bayop")
    installed.run("rm", "/usr/local/bin/p99")
    assert installed.files() - before == set()
    for database in ("group", "passwd"):
        assert "bayop" not in installed.run("getent", database).stdout


def test_who_follows_the_pages_has_an_observed_service(machine: Machine, architecture: str, before: set[str]) -> None:
    folder = "/var/cache/page"
    machine.run("mkdir", folder)
    for deb in DEBS:
        machine.run("mv", deb, f"{folder}/{Path(deb).stem}_{VERSION}_{architecture}.deb")
    # What listens is found by its name; that it says nothing which a probe understands is told as its trouble.
    machine.run("ln", "--symbolic", "/usr/bin/python3", f"{folder}/memcached")
    machine.run("systemd-run", f"{folder}/memcached", "-m", "http.server", "11211")
    machine.wait_until(lambda: ":11211" in machine.run("ss", "--listening", "--tcp", "--numeric").stdout)
    steps = [s for page in PAGES for b in blocks_of(page) if b.clauses.get("run by") == OWN for s in b.steps()]
    inside = f'sudo() {{ "$@"; }}; export APT_CONFIG={folder}/apt.conf; cd {folder}\n'
    machine.path(f"{folder}/apt.conf").write_text('APT::Get::Assume-Yes "true";\n', encoding="ascii")
    outputs = {step.command: machine.run("sh", "-c", f"{inside}{step.command}").stdout for step in steps}
    assert "Observed: memcached" in outputs["sudo bayop init --start"]
    assert "memcached" in outputs["sudo bayop status --file /etc/bayop/bayop.toml"]
    machine.apt("purge", "bayop", "bayop-agent")
    assert machine.files() - before == set()


def test_the_package_is_the_same_when_it_is_built_again(architecture: str) -> None:
    minor = PYTHONS[own_release()]
    packed = BUILD / f"bayop_{VERSION}+py{minor}_{architecture}.deb"
    builds = []
    for _ in range(2):
        subprocess.run(["make", "deb-brain", f"DEB_PYTHON={minor}"], cwd=ROOT, check=True)
        builds.append(packed.read_bytes())
    assert builds[0] == builds[1]


def test_a_python_without_locked_versions_is_refused(tmp_path: Path) -> None:
    again = [str(PACK), sys.executable, __file__, "3.9", str(tmp_path)]
    run = subprocess.run(again, capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert run.stderr.startswith("error: there are no locked versions for Python 3.9; it must be one of: 3.11 3.13\n")
