"""The same summaries on a Ray cluster, for logs that outgrow one machine.

Every piece of every log is a task; the summaries come back and are joined here in the order of the pieces, so the
result is that of one machine to the last bit. A task whose node dies is run again on another one. All nodes see the
files under the same paths, and have BayOp installed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from bayop.cluster import connect
from bayop.errors import BayopError, UnsupportedError
from bayop.interrupts.log import Log, Piece
from bayop.interrupts.query import join, summarise_piece
from bayop.interrupts.summary import Summary

_RETRIES: Final = 8
"""A piece that takes its node down so often will do so again."""


def summarise_on_cluster(logs: Sequence[Log], address: str, on_piece: Callable[[], None]) -> list[Summary]:
    """The summaries of some logs, computed by the nodes of a cluster.

    Args:
        logs: What to read.
        address: Of the cluster's head, such as `10.0.0.1:6379`; `auto` is the one that runs on this machine.
        on_piece: Called after each piece, whichever comes first.

    Raises:
        InputError: as on one machine.
        UnsupportedError: Ray is not installed, the cluster can't be reached, or a piece's nodes keep dying.
    """
    ray = connect(address, purpose="a summary on a cluster")
    try:
        task = ray.remote(max_retries=_RETRIES)(summarise_piece)
        tasks: list[list[tuple[Piece, Any]]] = [[(p, task.remote(log, p)) for p in log.pieces()] for log in logs]
        waiting = [reference for parts in tasks for _, reference in parts]
        while waiting:
            ready, waiting = ray.wait(waiting)
            _get(ray, ready[0])
            on_piece()
        return [
            join(log, ((piece, _get(ray, reference)) for piece, reference in parts))
            for log, parts in zip(logs, tasks, strict=True)
        ]
    finally:
        ray.shutdown()


def _get(ray: Any, reference: Any) -> Summary | None:  # noqa: ANN401 -- Ray is an extra, and has no types without it
    try:
        summary: Summary | None = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, BayopError):
            raise error.cause from None
        raise
    except ray.exceptions.RayError as error:
        reason = str(error).strip().partition("\n")[0]
        raise UnsupportedError(
            wrong="the cluster lost the nodes that read a piece", parameter="ray", hint=reason
        ) from error
    return summary
