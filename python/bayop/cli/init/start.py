"""`bayop init --start`: from both packages to a service that is observed, or advised, in one command."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from bayop.cli.flags.running import FILE
from bayop.errors import BayopError, InputError, UnsupportedError, reason
from bayop.files import read_text, write_whole
from bayop.machine.first_files import Inventory, power_lines
from bayop.machine.first_service import HEAD, FirstMode, first_service
from bayop.slo import Slo
from bayop.toml_file import TomlFile

AGENT_FILE: Final = Path("/etc/bayop/agent.toml")
UNITS: Final = ("bayop-agent.service", "bayop.service")


def start(inventory: Inventory, latency: str | None, slo: Slo, mode: FirstMode) -> tuple[str, list[Path]]:
    """Adds the service to the file, enables and starts both units; returns its name, and the files that were written.

    Without a power meter the agent estimates, by a model that is added to its configuration where it says nothing of
    power; a search or an observation needs one of both.

    Raises:
        UnsupportedError: the user is not root, or the units are not installed.
        InputError: the file names services already, none is here, or none of which the mode can say anything; or a
            file can't be read or written.
        BayopError: systemd could not start them.
    """
    _check_can()
    text = _without_service()
    name, table = first_service(inventory, latency, slo, mode)
    written = [FILE]
    if not inventory.has_meter and "power" not in TomlFile(AGENT_FILE).table_names():
        lines = "\n".join(["", "# Added by bayop init --start.", *power_lines(inventory)])
        _write(AGENT_FILE, f"{read_text(AGENT_FILE)}{lines}\n")
        written.append(AGENT_FILE)
    _write(FILE, text + table)
    if AGENT_FILE in written:
        _systemctl("try-restart", UNITS[0])
    _systemctl("enable", "--now", *UNITS)
    return name, written


def _check_can() -> None:
    if os.geteuid() != 0:
        raise UnsupportedError(wrong="only root may start services", place="--start", hint="sudo bayop init --start")
    if shutil.which("systemctl") is None or _run("cat", *UNITS).returncode != 0:
        wrong = f"{' and '.join(UNITS)} are not both installed here"
        raise UnsupportedError(wrong=wrong, place="--start", hint="install the packages: docs/install.md")


def _without_service() -> str:
    """The file as it is, which must name no service yet."""
    if not FILE.exists():
        return HEAD
    if TomlFile(FILE).below("service").table_names():
        hint = f"systemctl enable --now {' '.join(UNITS)}"
        raise InputError(
            "a file with services must not be changed",
            wrong=f"{FILE} names services already",
            place="--start",
            hint=hint,
        )
    return read_text(FILE)


def _write(path: Path, text: str) -> None:
    # The units' users read it, whatever root's umask is.
    write_whole(path, lambda file: file.write(text.encode()), mode=0o644)


def _systemctl(*words: str) -> None:
    run = _run(*words)
    if run.returncode != 0:
        said = run.stderr.strip().splitlines() or ["it does not say why"]
        hint = "systemctl status bayop-agent bayop; journalctl -u bayop"
        raise BayopError(wrong=f"systemctl {words[0]} failed: {said[0]}", place="--start", hint=hint)


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(["systemctl", *words], capture_output=True, text=True, check=False)  # noqa: S603, S607
    except OSError as error:
        raise UnsupportedError(wrong=f"cannot run systemctl: {reason(error)}") from error
