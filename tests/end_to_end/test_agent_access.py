"""Who gets to an agent from another machine: mutual TLS with the real agent, and the verbs that only read."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from tests.support.agents import AgentProcess, Machine
from tests.support.servers import free_port

from bayop.cli import main


def openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def make_authority(folder: Path, name: str) -> None:
    """A certification authority of our own: `name`.pem and `name`.key."""
    openssl(
        folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc", "-days", "2",
        "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem",
        "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign",
    )  # fmt: skip


def make_certificate(folder: Path, name: str, *, authority: str, host: str = "localhost") -> None:
    """A certificate that an authority signed: `name`.pem and `name`.key."""
    openssl(
        folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc", "-subj", f"/CN={name}",
        "-addext", f"subjectAltName=DNS:{host}", "-keyout", f"{name}.key", "-out", f"{name}.csr",
    )  # fmt: skip
    openssl(
        folder, "x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.pem", "-CAkey", f"{authority}.key",
        "-days", "2", "-copy_extensions", "copy", "-out", f"{name}.pem",
    )  # fmt: skip


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    for authority in ("ours", "theirs"):
        make_authority(folder, authority)
    make_certificate(folder, "agent", authority="ours")
    make_certificate(folder, "brain", authority="ours")
    make_certificate(folder, "stranger", authority="theirs")
    make_certificate(folder, "elsewhere", authority="ours", host="elsewhere.example")
    for key in folder.glob("*.key"):
        key.chmod(0o600)
    return folder


def serving(binary: Path, folder: Path, machine: Machine, certificates: Path, name: str = "agent") -> AgentProcess:
    """An agent on a free TCP port; its address is that of the port."""
    port = free_port()
    tls = (
        f'[tls]\nlisten = "127.0.0.1:{port}"\ncertificate = "{certificates}/{name}.pem"\n'
        f'key = "{certificates}/{name}.key"\nclient_ca = "{certificates}/ours.pem"\n'
    )
    agent = AgentProcess(binary, folder, machine.root, more=tls)
    agent.address = f"https://localhost:{port}"
    return agent


def credentials(certificates: Path, name: str, authority: str = "ours") -> list[str]:
    files = {"cert": f"{name}.pem", "key": f"{name}.key", "ca": f"{authority}.pem"}
    return [word for flag, file in files.items() for word in (f"--agent-{flag}", str(certificates / file))]


def test_a_certificate_of_the_agents_authority_gets_in(
    agent_binary: Path, tmp_path: Path, machine: Machine, certificates: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(agent_binary, tmp_path, machine, certificates) as agent:
        assert main(["knobs", "--agent", agent.address, *credentials(certificates, "brain"), "--json"]) == 0
        target = ["tune", "--target", f"agent:{agent.address}", *credentials(certificates, "brain"), "--dry-run"]
        assert main([*target, "--only", "power.cap_w", "--range", "power.cap_w=60:120:5", "--json"]) == 0
    *knobs, dry_run = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (cap,) = [knob for knob in knobs if knob["knob"] == "power.cap_w"]
    assert (cap["at"], cap["effective"]) == ("intel-rapl:0/0", 120)
    assert dry_run["event"] == "dry-run"


def test_nobody_else_does(
    agent_binary: Path, tmp_path: Path, machine: Machine, certificates: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(agent_binary, tmp_path, machine, certificates) as agent:
        for more, message in (
            (credentials(certificates, "stranger"), "the agent refuses our certificate"),
            (
                credentials(certificates, "brain", "theirs"),
                "our CA did not sign the agent's certificate for this host name",
            ),
        ):
            assert main(["knobs", "--agent", agent.address, *more]) == 4
            captured = capsys.readouterr()
            assert captured.out == ""
            assert message in captured.err


def test_an_agent_with_another_hosts_name_is_not_believed(
    agent_binary: Path, tmp_path: Path, machine: Machine, certificates: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(agent_binary, tmp_path, machine, certificates, "elsewhere") as agent:
        assert main(["knobs", "--agent", agent.address, *credentials(certificates, "brain")]) == 4
    assert "our CA did not sign the agent's certificate for this host name" in capsys.readouterr().err


def test_files_that_do_not_belong_together_are_refused(
    tmp_path: Path, certificates: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mixed = credentials(certificates, "brain")
    mixed[3] = str(certificates / "stranger.key")
    assert main(["knobs", "--agent", "https://localhost", *mixed]) == 2
    assert "PEM files that belong together" in capsys.readouterr().err
    encrypted = tmp_path / "encrypted.key"
    openssl(certificates, "pkcs8", "-topk8", "-in", "brain.key", "-passout", "pass:secret", "-out", str(encrypted))
    mixed[3] = str(encrypted)
    assert main(["knobs", "--agent", "https://localhost", *mixed]) == 2
    assert "decrypt it first" in capsys.readouterr().err


def test_one_machines_knobs_are_shown_to_people(
    agent_binary: Path, tmp_path: Path, machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    with AgentProcess(agent_binary, tmp_path, machine.root) as agent:
        assert main(["knobs", "--agent", agent.address]) == 0
    output = capsys.readouterr().out
    for text in ("power.cap_w", "intel-rapl:0/0", "120W", "60W to 120W"):
        assert text in output
