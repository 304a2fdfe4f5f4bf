"""Arrows between the parts point one way, the start is light, and Python stays out of the Rust core."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_imports_follow_the_layers() -> None:
    run = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_every_package_is_in_a_layer() -> None:
    parts = {p.stem for p in (ROOT / "python" / "bayop").iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    layered = (ROOT / "pyproject.toml").read_text(encoding="utf-8").split("layers = [")[1].split("]")[0]
    unlisted = {p for p in parts - {"__init__", "__main__", "testing"} if f"bayop.{p}" not in layered}
    assert not unlisted


def test_only_one_crate_depends_on_pyo3() -> None:
    run = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--no-deps", "--offline"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    packages = json.loads(run.stdout)["packages"]
    users = {p["name"] for p in packages if any(d["name"] == "pyo3" for d in p["dependencies"])}
    assert users == {"bayop-python"}


def test_the_twin_is_pure() -> None:
    sources = [*(ROOT / "crates" / "twin" / "src").rglob("*.rs")]
    assert sources
    for source in sources:
        text = source.read_text(encoding="utf-8").split("#[cfg(test)]")[0]
        for impure in ("Instant", "SystemTime", "std::env", "std::fs", "thread_rng"):
            assert impure not in text, f"{source.relative_to(ROOT)} uses {impure}"


def test_only_targets_and_what_stands_above_them_know_the_extension() -> None:
    package = ROOT / "python" / "bayop"
    users = {p.relative_to(package).parts[0] for p in package.rglob("*.py") if "_core" in p.read_text(encoding="utf-8")}
    assert users <= {"target", "load", "study", "cli", "testing"}


def test_import_is_light() -> None:
    heavy = ("torch", "ax", "matplotlib", "scipy", "rich", "numpy")
    code = f"import sys, bayop; sys.exit(any(m in sys.modules for m in {heavy!r}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

    def seconds() -> float:
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import bayop"], check=True)
        return time.perf_counter() - started

    # The best of five: the budget is for the work, not for a busy machine. It includes the interpreter's own start.
    assert min(seconds() for _ in range(5)) < 0.3


def test_one_version_everywhere() -> None:
    import bayop
    import bayop._core

    cargo = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    assert f'version = "{bayop.__version__}"' in cargo
    assert bayop.__version__ in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
