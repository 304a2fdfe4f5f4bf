"""Trials that a hypervisor has spoilt: what is worth waiting until it gives the processors back.

A virtual machine's processor is taken away whenever its host has other work for it ("steal time",
Documentation/filesystems/proc.rst section 1.7). Its clients then wait for milliseconds under any setting, and a trial
that is held against the setting says nothing of it. How much of the time may be taken depends on the quantile that
counts: what is taken for 1 % of the time makes a p99 of its own, and leaves a p90 nearly as it is.
"""

from __future__ import annotations

from typing import Final

from bayop.measurement import Measurement

MOST_STOLEN: Final = 0.5
"""What may be stolen, as a share of the requests that may be slower than the quantile."""

PATIENCE_S: Final = 60.0
"""How long a search waits for its hypervisor, all in all."""

LOOK_S: Final = 1.0
"""How long the processors have to be left alone before a trial begins anew."""


class Patience:
    """What is left of the time for which a search waits for its hypervisor.

    Args:
        quantile: The quantile of the latency that counts (0-1).
        patience_s: How long that is, trials that are measured again included.
    """

    def __init__(self, quantile: float, patience_s: float = PATIENCE_S) -> None:
        self._most_stolen = MOST_STOLEN * (1.0 - quantile)
        self._left_s = patience_s
        self._anew = 0
        self._kept = 0

    def begins_anew(self, trial: Measurement, took_s: float) -> bool:
        """Whether a trial that took so long is measured again; one of which nobody knows what was stolen is not."""
        if (trial.get("stolen") or 0.0) <= self._most_stolen:
            return False
        if self._left_s <= 0.0:
            self._kept += 1
            return False
        self._left_s -= took_s
        self._anew += 1
        return True

    def goes_on(self, stolen: float | None) -> bool:
        """Whether to wait on, after `LOOK_S` in which so much was stolen."""
        self._left_s -= LOOK_S
        return stolen is not None and stolen > self._most_stolen and self._left_s > 0.0

    @property
    def doubts(self) -> list[str]:
        """What to know of the trials until now, for people."""
        said = []
        if self._anew:
            said.append(f"{self._trials(self._anew)}, measured again")
        if self._kept:
            said.append(f"{self._trials(self._kept)}, whose latency is also its doing: search when the host is quiet")
        return said

    def _trials(self, count: int) -> str:
        whose = "a trial" if count == 1 else f"{count} trials"
        return f"the hypervisor took more than {100 * self._most_stolen:.2g} % of the processors' time in {whose}"
