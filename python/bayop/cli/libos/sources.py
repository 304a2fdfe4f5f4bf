"""BayOp's sources, which hold more than the package that is installed: the lab, the benchmarks, the library OS."""

from __future__ import annotations

import sys
from pathlib import Path

from bayop.errors import UnsupportedError


def open_sources() -> None:
    """Makes `lab` and `bench` importable.

    Raises:
        UnsupportedError: bayop is not installed from a clone.
    """
    root = Path(__file__).resolve().parents[4]
    if not (root / "libos" / "Cargo.toml").exists():
        raise UnsupportedError(
            wrong="the library OS is built from BayOp's sources, without which this bayop is installed",
            hint="in a clone of BayOp: make demo libos, then .venv/bin/bayop",
        )
    if str(root) not in sys.path:
        sys.path.append(str(root))
