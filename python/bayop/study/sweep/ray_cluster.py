"""Trials as tasks of a Ray cluster, for sweeps that outgrow one machine. Ray is an optional extra.

The sweep's own process keeps the books: it gives tasks to the cluster, and what comes back is in its journal before
anything follows from it. A task of a node that dies runs again on another one, with the same seed and so with the same
result.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Final, Self

from bayop.errors import BayopError, UnsupportedError
from bayop.study.sweep.makers import Maker
from bayop.study.sweep.plan import Trial
from bayop.study.sweep.trial import Outcome, run_trial

_ANSWER_S: Final = 5.0

RETRIES: Final = 10
"""How often a trial runs anew when its node or its process dies."""


class RayCluster(AbstractContextManager["RayCluster"]):
    """Runs trials on the nodes of a cluster, one on each of their processors.

    Args:
        maker: Gives every trial its target.
        address: The cluster: `HOST:PORT`, `auto` for the one that this machine is part of, or `ray://HOST:PORT`.
        version: BayOp's version, which every node must have.

    Raises:
        UnsupportedError: Ray is not installed, or the cluster can't be reached.
    """

    def __init__(self, maker: Maker, address: str, *, version: str) -> None:
        self._maker, self._version = maker, version
        self._ray = _connect(address)
        self._run = self._ray.remote(num_cpus=1, max_retries=RETRIES, scheduling_strategy="SPREAD")(run_trial)
        self._running: dict[Any, Trial] = {}

    @property
    def capacity(self) -> int:
        """Two trials for each processor that the cluster has now; nodes may come and go."""
        return max(2, 2 * int(self._ray.cluster_resources().get("CPU", 0)))

    def start(self, trial: Trial) -> None:
        """Hands the trial to the cluster."""
        self._running[self._run.remote(self._maker, trial, self._version)] = trial

    def finished(self) -> list[tuple[Trial, Outcome]]:
        """The trials that the cluster has done."""
        ready, _ = self._ray.wait(list(self._running))
        try:
            return [(self._running.pop(task), self._ray.get(task)) for task in ready]
        except self._ray.exceptions.RayTaskError as error:
            raise (error.cause if isinstance(error.cause, BayopError) else error) from error
        except self._ray.exceptions.RayError as error:
            hint = "see the state of the cluster (ray status), then go on with the same command"
            raise BayopError("the cluster runs every trial", value=type(error).__name__, hint=hint) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leaves the cluster, which ends the tasks that still run."""
        self._ray.shutdown()


def _connect(address: str) -> Any:  # noqa: ANN401 -- an optional package
    # Ray prints what it thinks of a dead node on stdout, which is ours; this pattern keeps all of that back.
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")
    try:
        import ray
    except ImportError as error:
        hint = "pip install 'bayop[ray]'; --processes needs nothing"
        raise UnsupportedError("a sweep on a cluster needs the ray package", hint=hint) from error
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
    return UnsupportedError("the Ray cluster can be reached", value=address, place="--ray", hint=hint)
