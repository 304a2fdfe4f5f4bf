from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from bench.libos.memcached import run
from bench.libos.memcached.run import Row, Tap, judged, table, tap
from bench.libos.memcached.server import REFUSED, main, wanted
from bench.rows import read_rows

OPTIONS = "-u root -m 32 -c 10 -p 4000 -U 4001 -o no_modern,slab_chunk_max=16384 -vv"
GOOD = tap("1..3\nok 1 - stored\nok 2\nok 3\n")


def test_the_table_of_the_page_follows_from_the_results() -> None:
    rows = read_rows(max(Path("bench/libos/memcached/results").glob("*/raw.csv")), Row)
    assert table(rows) in Path("docs/libos.md").read_text(encoding="utf-8")
    assert all(row.result != run.UNKNOWN for row in rows)


def test_words_say_what_options_say() -> None:
    words, ports, refused = wanted(OPTIONS.split())
    assert (words, ports) == ("connections=1024 memory=32 connections=10 udp=on", {"tcp": 4000, "udp": 4001})
    assert refused == []
    assert wanted(["-U", "0"]).ports == {"tcp": 11211}


def test_options_without_a_word_are_refused_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(REFUSED, str(tmp_path / "refused"))
    assert main(["-M", "-I", "2m", "-o", "idle_timeout=3,modern"]) == 1
    assert (tmp_path / "refused").read_text() == "-M\n-I\n-o idle_timeout\n"


def test_what_a_test_has_printed() -> None:
    said = tap("ok 1 - stored\nnot ok 2 - got it\nok nothing\n1..2\n", ["-M", "-M", ""])
    assert said == Tap(frozenset({1}), frozenset({2}), planned=2, skipped="", refused="option `-M`")
    assert tap("1..0 # SKIP extstore not enabled\n").skipped == "extstore not enabled"
    assert tap("ok 1\n").planned is None


def test_only_what_debians_passes_is_missed() -> None:
    ours = replace(GOOD, passed=frozenset({1}), failed=frozenset({2}))
    assert judged("cas", ours, GOOD) == Row("cas", 3, 2, 0, run.UNKNOWN, "")
    assert judged("cas", ours, replace(GOOD, failed=frozenset({2}))) == Row("cas", 3, 1, 1, run.UNKNOWN, "")
    assert judged("cas", replace(ours, planned=None), GOOD).missed == 2
    assert judged("cas", GOOD, GOOD) == Row("cas", 3, 0, 0, run.PASSES, "")


def test_what_is_known_must_be_so(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"cas": (run.DIFFERS, 1, "slabs"), "metaget": (run.FOREIGN, None, "meta commands")}
    monkeypatch.setattr(run, "KNOWN", known)
    one_missed = replace(GOOD, passed=frozenset({1, 3}), failed=frozenset({2}))
    assert judged("cas", one_missed, GOOD) == Row("cas", 3, 1, 0, run.DIFFERS, "slabs")
    assert judged("metaget", one_missed, GOOD) == Row("metaget", 3, 1, 0, run.FOREIGN, "meta commands")
    assert [judged(name, GOOD, GOOD).result for name in known] == [run.UNKNOWN] * 2


def test_tests_of_one_reason_are_one_row() -> None:
    rows = [
        Row("cas", 43, 0, 0, run.PASSES, ""),
        Row("extstore", None, 0, 0, run.FOREIGN, "no extstore"),
        Row("expirations", 41, 0, 5, run.PASSES, ""),
        Row("lru", 149, 1, 0, run.DIFFERS, "slabs"),
    ]
    assert table(rows).splitlines()[2:] == [
        "| passes | cas expirations | 84 | 0 | 5 |  |",
        "| differs | lru | 149 | 1 | 0 | slabs |",
        "| can't apply | extstore |  |  |  | no extstore |",
    ]
