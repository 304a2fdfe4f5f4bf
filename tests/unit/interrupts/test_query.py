from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.interrupt_logs import LINES, PUBLISHED_HEADER, drawn_lines, state_of, write_lines

from bayop.errors import InputError
from bayop.interrupts import log as log_module
from bayop.interrupts.log import Piece, open_log
from bayop.interrupts.query import follow, join, summarise, summarise_piece


@pytest.mark.parametrize("block_bytes", [300, 2000, 2**20])
@pytest.mark.parametrize("piece_bytes", [1000, 3000, 2**20])
def test_the_summary_does_not_depend_on_how_the_log_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_bytes: int, piece_bytes: int
) -> None:
    log = open_log(write_lines(tmp_path / "log", drawn_lines(120, seed=1)))
    whole = state_of(summarise(log))
    monkeypatch.setattr(log_module, "BLOCK_BYTES", block_bytes)
    monkeypatch.setattr(log_module, "PIECE_BYTES", piece_bytes)
    pieces = log.pieces()
    assert (len(pieces) > 1) == (piece_bytes < 2**20)
    assert state_of(summarise(log)) == whole
    assert state_of(join(log, [(piece, summarise_piece(log, piece)) for piece in pieces])) == whole


def test_every_piece_is_told_of_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = open_log(write_lines(tmp_path / "log", drawn_lines(120, seed=1)))
    monkeypatch.setattr(log_module, "PIECE_BYTES", 1000)
    calls: list[None] = []
    summarise(log, on_piece=lambda: calls.append(None))
    assert len(calls) == len(log.pieces()) > 5


def test_each_batch_comes_with_the_summary_of_all_so_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = open_log(write_lines(tmp_path / "log", LINES))
    monkeypatch.setattr(log_module, "BLOCK_BYTES", 100)
    steps = [(batch.interrupts["entry"].to_list(), so_far.records) for batch, so_far in follow(log, log.pieces())]
    assert [entry for entries, _ in steps for entry in entries] == [0, 1, 2, 3, 4, 5]
    assert len(steps) > 2
    assert [records for _, records in steps] == [entries[-1] + 1 for entries, _ in steps]


def halves(path: Path) -> list[Piece]:
    cut = len("".join(line + "\n" for line in LINES[:3]))
    assert path.read_bytes()[cut - 1 :].startswith(b"\n3 ")
    return [Piece(0, cut), Piece(cut, None)]


def test_joining_leaves_the_parts_as_they_are(tmp_path: Path) -> None:
    log = open_log(write_lines(tmp_path / "log", LINES))
    parts = [(piece, summarise_piece(log, piece)) for piece in halves(log.path)]
    before = [state_of(part) for _, part in parts if part is not None]
    assert state_of(join(log, parts)) == state_of(summarise(log))
    assert [state_of(part) for _, part in parts if part is not None] == before


def test_parts_without_records_change_nothing(tmp_path: Path) -> None:
    log = open_log(write_lines(tmp_path / "log", LINES))
    (piece,) = log.pieces()
    end = Piece(log.path.stat().st_size, None)
    assert summarise_piece(log, end) is None
    assert state_of(join(log, [(end, None), (piece, summarise(log)), (end, None)])) == state_of(summarise(log))


def test_pieces_that_do_not_follow_each_other_are_refused_at_their_line(tmp_path: Path) -> None:
    log = open_log(write_lines(tmp_path / "log", LINES))
    first, second = halves(log.path)
    parts = [(second, summarise_piece(log, second)), (first, summarise_piece(log, first))]
    with pytest.raises(InputError, match="a record must follow the one before it") as caught:
        join(log, parts)
    assert caught.value.place == f"{log.path}, line 1, column i"


def test_nothing_is_no_log(tmp_path: Path) -> None:
    log = open_log(write_lines(tmp_path / "log", [PUBLISHED_HEADER]))
    for read in (summarise, lambda log: join(log, [])):
        with pytest.raises(InputError, match="the log is empty") as caught:
            read(log)
        assert caught.value.place == f"{log.path}, line 1"
