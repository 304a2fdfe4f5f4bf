"""Where a benchmark ran, so that its numbers can be judged."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("bayop", "numpy", "scipy", "ax-platform", "botorch", "gpytorch", "torch")


def host_kind() -> str:
    """The kind of machine, for a folder's name; no host names."""
    return f"{os.cpu_count()}cpu-{platform.machine()}"


def describe(module: str, arguments: Sequence[str]) -> Mapping[str, object]:
    """Machine, versions, revision and command, JSON-ready."""
    return {
        "command": ["python", "-m", module, *arguments],
        "revision": _revision(),
        "cpu": _cpu(),
        "cpus": os.cpu_count(),
        "threads": os.environ.get("OMP_NUM_THREADS"),
        "kernel": platform.release(),
        "python": sys.version.split()[0],
        "packages": {name: _version(name) for name in PACKAGES},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _cpu() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if Path("/proc/cpuinfo").exists() else []
    return next((x.partition(":")[2].strip() for x in lines if x.startswith("model name")), platform.processor())


def _revision() -> str | None:
    """The commit, marked when the sources under test differ from it."""
    root = Path(__file__).parents[1]
    git = ["git", "-C", str(root)]
    run = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        return None
    changes = subprocess.run(
        [*git, "status", "--porcelain", "--untracked-files=no", "python", "crates", "bench"],
        capture_output=True,
        text=True,
        check=False,
    )
    return run.stdout.strip() + ("+changes" if changes.stdout.strip() else "")
