"""`bayop-idle-record` on this machine's kernel, whatever it shows of its data."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from bench.idle_record.players import ping_pong

from bayop.idle.recorder import read_recording

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]


def test_stays_follow_each_other_and_timers_are_seen_where_they_can_be(idle_recorder: Path) -> None:
    with ping_pong():
        command = [str(idle_recorder), "--duration-s", "3"]
        lines = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines(keepends=True)
    recording = read_recording(lines, idle_recorder.name)
    symbols = {line.split()[2] for line in Path("/proc/kallsyms").read_text(encoding="ascii").splitlines()}
    assert recording.summary["timers"] is bool(symbols & {"tick_cpu_device", "bpf_rdonly_cast"})
    assert sum(map(len, recording.of_cpu.values())) > 1000
    for stays in recording.of_cpu.values():
        assert all(start_us > 0 and 0 <= length_us < 3e6 for start_us, length_us, *_ in stays)
        ends_us = [start_us + length_us for start_us, length_us, *_ in stays]
        assert all(end_us <= stay[0] + 1 for end_us, stay in zip(ends_us, stays[1:], strict=False))
