"""The tables of idle states."""

from __future__ import annotations

import re

import pytest
from tests.pages.blocks import ROOT

from bayop.idle.machines import MACHINES

LIBRARY_OS = (ROOT / "libos" / "hal" / "src" / "idle.rs").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("models", "machine"),
    [("0x2D", "sandy-bridge"), ("0x3F", "haswell"), ("0x55", "skylake-sp"), ("0x6A, 0x6C", "ice-lake-sp")],
)
def test_the_library_os_knows_the_same_states(models: str, machine: str) -> None:
    """But for the one that polls, which is none of its."""
    _, _, rest = LIBRARY_OS.partition(f"&[{models}],")
    rows = re.findall(r'state\("(\w+)", \w+, \[(\d+), (\d+), (\d+)\]\)', rest.partition("// Xeon")[0])
    found = [(name, int(exit_us), int(residency_us), int(permille)) for name, exit_us, residency_us, permille in rows]
    states = MACHINES[machine].states[1:]
    assert found == [(s.name, s.exit_latency_us, s.target_residency_us, round(s.power_share * 1000)) for s in states]
