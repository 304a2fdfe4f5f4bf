"""Killed at a write and started again, a daemon decides as one that has kept in memory what the other has written."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from bench.kills.decisions import live, live_with_kills, rows

from bayop.state.store import Store

TEXT: Final = """
[service.web]
agent = "unix:/run/bayop/agent.sock"
latency = "sh p99.sh"
slo = "p99<300us"
[service.web.policy]
max_trials = 4
watch_s = 60
"""
LASTS_S: Final = 400.0


def load(_: float) -> float:
    """Of each moment, in requests/s."""
    return 3e5


@pytest.mark.parametrize(
    "writes", [[5], *(pytest.param(n, marks=pytest.mark.slow) for n in ([0], [2], [8], [12], [3, 9]))]
)
def test_killed_at_a_write_it_decides_as_one_that_remembers(tmp_path: Path, writes: list[int]) -> None:
    assert len(list(live_with_kills(tmp_path, TEXT, load, writes, end_s=2 * LASTS_S))) == len(writes)
    killed = rows(tmp_path / "killed.db")
    assert killed["window"][-1], "something was decided"
    assert killed == rows(tmp_path / "kept.db")


def test_what_polish_has_made_of_what_a_search_has_found_is_held_again_without_a_trial(tmp_path: Path) -> None:
    with Store(tmp_path / "held.db") as store:
        before = live(store, TEXT, load, start_s=0.0, end_s=LASTS_S)
        found, *polished = (found.setting for found in store.found("web", LASTS_S))
    assert [w.phase for w in before].count("trial") > 0
    assert before[-1].setting == polished[-1] != found
    with Store(tmp_path / "held.db") as store:
        after = live(store, TEXT, load, start_s=1000.0, end_s=1000.0 + LASTS_S)
    assert after[0].setting == polished[-1]
    assert "trial" not in [w.phase for w in after]
