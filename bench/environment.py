"""Where a benchmark ran, so that its numbers can be judged."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("bayop", "numpy", "scipy", "ax-platform", "optuna", "botorch", "gpytorch", "torch")


def results_folder(parent: Path) -> Path:
    """The folder for what is measured today (UTC) on this kind of machine, such as `2026-11-22-2cpu-x86_64`."""
    return parent / f"{datetime.now(UTC):%Y-%m-%d}-{os.cpu_count()}cpu-{platform.machine()}"


def write(folder: Path, module: str, arguments: Sequence[str], **more: object) -> None:
    """Makes a folder of results, and writes env.json into it: machine, versions, revision, command, and more."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({**_description(module, arguments), **more}, indent=2)
    (folder / "env.json").write_text(f"{text}\n", encoding="utf-8")


def _description(module: str, arguments: Sequence[str]) -> Mapping[str, object]:
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
