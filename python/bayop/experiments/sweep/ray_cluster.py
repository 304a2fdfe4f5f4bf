"""Trials as tasks of a Ray cluster, for sweeps that outgrow one machine. Ray is an optional extra.

The sweep's own process keeps the books: it gives tasks to the cluster, and what comes back is in its journal before
anything follows from it. A task of a node that dies runs again on another one, with the same seed and so with the same
result.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Final, Self

from bayop.cluster import connect
from bayop.errors import BayopError
from bayop.experiments.sweep.makers import Maker
from bayop.experiments.sweep.plan import Trial
from bayop.experiments.sweep.trial import Outcome, run_trial

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
        self._ray = connect(address, purpose="a sweep on a cluster")
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
            raise BayopError(
                wrong=f"the cluster did not run every trial ({type(error).__name__})",
                value=type(error).__name__,
                hint=hint,
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leaves the cluster, which ends the tasks that still run."""
        self._ray.shutdown()
