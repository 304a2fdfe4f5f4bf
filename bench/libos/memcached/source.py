"""memcached's own tests, of the version that is installed, from Debian's source package of it."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from bayop.errors import UnsupportedError

BUILD: Final = Path(__file__).resolve().parents[3] / "build" / "memcached"

_KEYRING: Final = "/usr/share/keyrings/debian-archive-keyring.gpg"
_CONFIG: Final = """\
Dir::Etc::SourceList "{folder}/sources.list";
Dir::Etc::SourceParts "-";
Dir::State "{folder}/state";
Dir::State::status "/dev/null";
Dir::Cache "{folder}/cache";
APT::Sandbox::User "root";
"""
"""Lists of its own: the machine goes on knowing what it knows."""


def source() -> Path:
    """The unpacked source; apt brings it once, and checks what it brings against Debian's signature.

    Raises:
        UnsupportedError: memcached is not installed, or its source can't be had here.
    """
    try:
        asked = subprocess.run(
            ["dpkg-query", "--show", "--showformat=${Version}", "memcached"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        hint = "requirements/install-packages test"
        raise UnsupportedError(wrong="Debian's memcached is not installed", hint=hint) from error
    version = asked.stdout.rpartition("-")[0]
    unpacked = BUILD / f"memcached-{version}"
    if not unpacked.exists():
        BUILD.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=BUILD) as name:
            _bring(Path(name), version).replace(unpacked)
    return unpacked


def _bring(folder: Path, version: str) -> Path:
    """Has apt download the upstream part of the source package, and unpacks it."""
    for part in ("state/lists/partial", "cache/archives/partial"):
        (folder / part).mkdir(parents=True)
    suite = platform.freedesktop_os_release()["VERSION_CODENAME"]
    (folder / "sources.list").write_text(f"deb-src [signed-by={_KEYRING}] http://deb.debian.org/debian {suite} main\n")
    (folder / "apt.conf").write_text(_CONFIG.format(folder=folder))
    environment = os.environ | {"APT_CONFIG": str(folder / "apt.conf")}
    for words in ("update", "source --download-only --tar-only memcached"):
        command = ["apt-get", "--quiet=2", *words.split()]
        run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise UnsupportedError(wrong=f"apt-get can't bring memcached's source: {run.stderr.strip()}")
    archives = list(folder.glob("memcached_*.orig.tar.*"))
    shutil.unpack_archive(archives[0], folder)
    unpacked = folder / f"memcached-{version}"
    if not unpacked.exists():
        raise UnsupportedError(wrong=f"{suite} has another version, {archives[0].name}, than is installed, {version}")
    return unpacked
