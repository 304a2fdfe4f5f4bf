"""BayOp's agent in the lab's machine: its files there, and what a client needs to talk to it."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from lab.certificates import Authority, Identity
from lab.errors import LabError
from lab.files import Files
from lab.packages import LAB, TREE, program, tool

CONFIGURATION = LAB / "guest" / "agent.toml"
"""It may set every knob; mutual TLS on port 9617 of the guest."""

PROFILE = LAB.parent / "packaging" / "apparmor" / "bayop-agent"
"""What confines the service; in the lab, which has no systemd to ask for it, it confines whoever runs the program."""

_PARSER_FILES = (
    "etc/apparmor/parser.conf",
    "etc/apparmor.d/abi",
    "etc/apparmor.d/abstractions",
    "etc/apparmor.d/tunables",
    "usr/share/apparmor-features",
)
_LOCAL_RULES = LAB / "guest" / "apparmor-local"
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
    files.add_program("/usr/sbin/bayop-agent", _strip(binary, folder / "bayop-agent"))
    _add_profile(files)
    files.add("/etc/bayop/agent.toml", CONFIGURATION)
    files.add("/etc/bayop/tls/agent.pem", server.certificate).add("/etc/bayop/tls/agent.key", server.key, mode=0o600)
    files.add("/etc/bayop/tls/clients.pem", authority.certificate)
    files.add("/etc/lab/start", _START, mode=0o755)
    return Access(client=authority.client("brain"), authority=authority.certificate)


def _add_profile(files: Files) -> None:
    """The profile, attached to the program's path, and what loads it at boot."""
    profile = PROFILE.read_text(encoding="utf-8")
    attached = profile.replace("\nprofile bayop-agent {", "\nprofile bayop-agent /usr/sbin/bayop-agent {")
    files.add("/etc/apparmor.d/bayop-agent", attached).add("/etc/apparmor.d/local/bayop-agent", _LOCAL_RULES)
    files.add_program("/usr/sbin/apparmor_parser", program("apparmor_parser"))
    for name in _PARSER_FILES:
        for path in (TREE / name, *(TREE / name).rglob("*")):
            place = f"/{path.relative_to(TREE)}"
            if path.is_dir():
                files.folders.append(place)
            else:
                files.add(place, path)


def _strip(binary: Path, copy: Path) -> Path:
    """A copy without what debuggers want: the guest's files are in its memory."""
    run = subprocess.run(
        [tool("strip"), "--strip-debug", "-o", str(copy), str(binary)], capture_output=True, text=True, check=False
    )
    if run.returncode != 0:
        raise LabError(wrong=f"the agent is no program of this host: {run.stderr.strip()}", place=str(binary))
    return copy
