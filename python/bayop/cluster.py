"""A Ray cluster, for work that outgrows one machine. Ray is an optional extra."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from typing import Any, Final

from bayop.errors import UnsupportedError

_ANSWER_S: Final = 5.0


def connect(address: str, *, purpose: str) -> Any:  # noqa: ANN401 -- an optional package, without types
    """Joins a cluster and returns the `ray` package; its `shutdown` leaves the cluster.

    Args:
        address: The cluster: `HOST:PORT`, `auto` for the one that this machine is part of, or `ray://HOST:PORT`.
        purpose: What it is needed for.

    Raises:
        UnsupportedError: Ray is not installed, or the cluster can't be reached.
    """
    # Ray prints what it thinks of a dead node on stdout, which is ours; this pattern keeps all of that back.
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")
    try:
        import ray
    except ImportError as error:
        hint = "pip install 'bayop[ray]'; without a cluster nothing is needed"
        raise UnsupportedError(wrong=f"ray, which {purpose} uses, is not installed", hint=hint) from error
    _check_reachable(address)
    in_main = threading.current_thread() is threading.main_thread()
    on_sigterm = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise _unreachable(address, error) from error
    finally:
        if in_main:
            # Ray has a way of its own to end with SIGTERM, which would skip ours.
            signal.signal(signal.SIGTERM, on_sigterm)
    return ray


def _check_reachable(address: str) -> None:
    """Refuses a head that does not answer; Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), timeout=_ANSWER_S).close()
    except (OSError, OverflowError) as error:
        raise _unreachable(address, error) from error


def _unreachable(address: str, error: Exception) -> UnsupportedError:
    reason = str(error).strip().partition("\n")[0]
    hint = f"{reason}; ray start --head starts a cluster and says its address"
    return UnsupportedError(
        wrong=f"the Ray cluster {address} can't be reached", value=address, parameter="ray", hint=hint
    )
