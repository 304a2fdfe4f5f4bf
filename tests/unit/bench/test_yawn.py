"""The page on idle governors says what the committed rows say."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.rows import read_rows
from bench.yawn import page
from bench.yawn.played import read_cores, read_day
from bench.yawn.run import ELSEWHERE, SERVER, Case, Row, line, row

from bayop.experiments.idle.cores import core_use
from bayop.experiments.idle.policy import POLICIES
from bayop.twin.profile_library import load_profile

ROWS = max(Path("bench/yawn/results").glob("*/rows.csv"))


def test_every_table_of_the_page_follows_from_the_rows() -> None:
    shown = page.PAGE.read_text(encoding="utf-8")
    played = page.newest("cores.jsonl")
    of_played = page.played_tables(read_cores(played), read_day(played, page.SERVER))
    for name, text in (*page.tables(read_rows(ROWS, Row)), *of_played):
        assert f"<!-- {name} -->\n{text}\n<!-- end -->" in shown, name


def test_the_rows_follow_from_the_twin() -> None:
    written = {(r.server, r.clock, r.qps, r.policy): r for r in read_rows(ROWS, Row)}
    for policy in POLICIES:
        for case in (Case(SERVER, "", {}, 1e4), Case(ELSEWHERE, "ondemand", {}, 8e4)):
            now = row(case, policy, {}, threads=2)
            before = written[now.server, now.clock, now.qps, now.policy]
            assert now.power_w == pytest.approx(before.power_w, rel=1e-5), line(now)
            assert now.p99_us == pytest.approx(before.p99_us, rel=1e-5), line(now)


def test_what_was_played_follows_from_the_twin() -> None:
    """Of the cores at the lowest rate: they are played with the verbs' own lengths."""
    written = [use for use in read_cores(page.newest("cores.jsonl")) if use.qps == 5e3]
    (now,) = core_use(load_profile(SERVER), "yawn", [5e3], requests=40_000, seed=0, threads=2)
    for before, use in zip(written, now, strict=True):
        assert use.balancer == before.balancer
        assert use.power_w == pytest.approx(before.power_w, rel=1e-5)
        assert use.operating == pytest.approx(before.operating, abs=1e-4)


def test_bayop_with_the_balancer_draws_less_than_menu_at_a_lower_p99_where_cores_sleep() -> None:
    at = {(r.qps, r.policy): r for r in read_rows(ROWS, Row) if r.clock == "2.9 GHz"}
    for qps in (40e3, 80e3, 120e3):
        menu, bayop = at[qps, "menu"], at[qps, "bayop, balancer"]
        assert bayop.power_w < 0.92 * menu.power_w
        assert bayop.p99_us < menu.p99_us
