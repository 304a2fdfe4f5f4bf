"""BayOp's agent in the lab's machine: its files there, and what a client needs to talk to it."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from lab.certificates import Authority, Identity
from lab.errors import LabError
from lab.files import Files
from lab.packages import LAB, tool

CONFIGURATION = LAB / "guest" / "agent.toml"
"""It may set every knob; mutual TLS on port 9617 of the guest."""

_START = "#!/bin/sh\nmkdir /run/bayop\nexec bayop-agent serve\n"


@dataclass(frozen=True)
class Access:
    """What a client of the agent needs for mutual TLS.

    Args:
        client: Its certificate and key.
        authority: The certificate that signed the agent's.
    """

    client: Identity
    authority: Path

    def flags(self) -> list[str]:
        """The flags with which every verb of `bayop` takes it."""
        files = {"cert": self.client.certificate, "key": self.client.key, "ca": self.authority}
        return [word for name, file in files.items() for word in (f"--agent-{name}", str(file))]


def add_agent(files: Files, binary: Path, folder: Path) -> Access:
    """Adds the agent to what a boot brings along, started at boot.

    Args:
        files: Gets the program, its configuration and its certificates.
        binary: A `bayop-agent` of the host.
        folder: For the certificates; they are good for two days.
    """
    authority = Authority(folder)
    server = authority.server("agent")
    files.add_program("/usr/bin/bayop-agent", _strip(binary, folder / "bayop-agent"))
    files.add("/etc/bayop/agent.toml", CONFIGURATION)
    files.add("/etc/bayop/tls/agent.pem", server.certificate).add("/etc/bayop/tls/agent.key", server.key, mode=0o600)
    files.add("/etc/bayop/tls/clients.pem", authority.certificate)
    files.add("/etc/lab/start", _START, mode=0o755)
    return Access(client=authority.client("brain"), authority=authority.certificate)


def _strip(binary: Path, copy: Path) -> Path:
    """A copy without what debuggers want: the guest's files are in its memory."""
    run = subprocess.run(
        [tool("strip"), "--strip-debug", "-o", str(copy), str(binary)], capture_output=True, text=True, check=False
    )
    if run.returncode != 0:
        raise LabError(wrong=f"the agent is no program of this host: {run.stderr.strip()}", place=str(binary))
    return copy
