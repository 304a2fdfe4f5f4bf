"""The contract between a search and what it tunes. `bayop.testing.targets` has the suite that every target passes."""

from __future__ import annotations

from typing import Protocol

from bayop.measurement import Measurement
from bayop.space import Setting, Space


class Server(Protocol):
    """What a machine with one service, real or modelled, says about itself."""

    @property
    def description(self) -> str:
        """What it is, for people: `linux, 600000 qps of study_memcached.csv`."""
        ...

    @property
    def space(self) -> Space:
        """The knobs and what they may be set to."""
        ...

    @property
    def quantities(self) -> frozenset[str]:
        """Names of the quantities that its measurements hold; `power_w` and latency quantiles are among them."""
        ...


class Target(Server, Protocol):
    """A server that one setting at a time is applied to and measured with.

    A target starts and ends in its default (every knob on `auto`): whoever applies settings calls `restore` in the
    end, also after an error.
    """

    @property
    def name(self) -> str:
        """The kind of target: `study`, `twin`, `agent`."""
        ...

    @property
    def qps(self) -> float:
        """Offered load, in requests/s."""
        ...

    def apply(self, setting: Setting) -> Setting:
        """Applies a setting and returns what is in effect, which rounding may have changed.

        What is in effect need not be in the space: a driver that is asked for 64 us may wait 50. It can be applied
        again all the same, and is then in effect again.

        Raises:
            InputError: the setting is neither in the space nor was it ever in effect; nothing is changed then.
        """
        ...

    def measure(self) -> Measurement:
        """One window of time with the setting in effect; censored when it was cut short because of its harm."""
        ...

    def baseline(self) -> Measurement | None:
        """One window of the default, or None when this target can't show it. Applies nothing."""
        ...

    def restore(self) -> None:
        """Puts the default back. May be called at any time and more than once."""
        ...
