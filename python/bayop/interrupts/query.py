"""Summaries of logs: a fold over batches, and over pieces that may have been summarised anywhere."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy

from bayop.errors import InputError
from bayop.interrupts.batch import BadRecordError, Batch
from bayop.interrupts.log import Log, Piece
from bayop.interrupts.summary import Summary
from bayop.interrupts.window import TickWindow


def summarise(log: Log, on_piece: Callable[[], None] = lambda: None, *, window: TickWindow | None = None) -> Summary:
    """The summary of a whole log, or of the records in a window.

    Args:
        log: What to read.
        on_piece: Called after each piece.
        window: Records outside of it are read but count for nothing.

    Raises:
        InputError: with file, line and column: something in it is no record, or it has none (in the window).
    """

    def pieces() -> Iterator[Piece]:
        for piece in log.pieces():
            yield piece
            on_piece()

    summary = _last(follow(log, pieces(), window))
    if summary is None and window is not None:
        rule = "a log must have records in the window of its run"
        raise InputError(rule, value=f"none from tick {window.first} to {window.last}", place=str(log.path))
    return _some(log, summary)


def summarise_piece(log: Log, piece: Piece) -> Summary | None:
    """The summary of a part of a log; None without records.

    Raises:
        InputError: as `summarise`.
    """
    return _last(follow(log, [piece]))


def join(log: Log, parts: Iterable[tuple[Piece, Summary | None]]) -> Summary:
    """The summary of a log, from those of its pieces in their order.

    Raises:
        InputError: the pieces do not follow each other, or there is no record.
    """
    whole: Summary | None = None
    for piece, part in parts:
        try:
            if whole is None:
                # The parts stay as they are; those that a cluster returns could not be changed anyway.
                whole = deepcopy(part)
            elif part is not None:
                whole.merge(part)
        except BadRecordError as error:
            raise log.refusal(piece, error) from error
    return _some(log, whole)


def follow(log: Log, pieces: Iterable[Piece], window: TickWindow | None = None) -> Iterator[tuple[Batch, Summary]]:
    """Every batch of some pieces that follow each other, with the summary of everything up to its end.

    Of a batch that reaches over the ends of the window, what is inside; batches without any are left out.

    Raises:
        InputError: as `summarise`.
    """
    whole: Summary | None = None
    for piece in pieces:
        try:
            for read in log.batches(piece):
                batch = read if window is None else window.clip(read)
                if batch is None:
                    continue
                part = Summary(batch)
                if whole is None:
                    whole = part
                else:
                    whole.merge(part)
                yield batch, whole
        except BadRecordError as error:
            raise log.refusal(piece, error) from error


def _last(steps: Iterable[tuple[Batch, Summary]]) -> Summary | None:
    newest = deque(steps, maxlen=1)
    return newest[0][1] if newest else None


def _some(log: Log, whole: Summary | None) -> Summary:
    if whole is None:
        raise InputError("a log must have at least one record", wrong="the log is empty", place=f"{log.path}, line 1")
    return whole
