"""The contract between a search and what it tunes. `bayop.testing.targets` has the suite that every target passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from bayop.measurement import Measurement
from bayop.space import Setting, Space


class Measurable(Protocol):
    """What a machine with one service, real or modelled, says about what it measures."""

    @property
    def description(self) -> str:
        """What it is, for people: `linux, 600000 qps of study_memcached.csv`."""
        ...

    @property
    def quantities(self) -> frozenset[str]:
        """Names of the quantities that its measurements hold; `power_w` and latency quantiles are among them."""
        ...


class Tunable(Measurable, Protocol):
    """What such a machine says about itself as a whole."""

    @property
    def space(self) -> Space:
        """The knobs and what they may be set to."""
        ...


class Settable(Tunable, Protocol):
    """A server that one setting at a time is applied to."""

    def apply(self, setting: Setting) -> Setting:
        """Applies a setting and returns what is in effect, which rounding may have changed.

        What is in effect need not be in the space: a driver that is asked for 64 us may wait 50. It can be applied
        again all the same, and is then in effect again.

        Raises:
            InputError: the setting is neither in the space nor was it ever in effect; nothing is changed then.
        """
        ...

    def restore(self) -> None:
        """Puts the default back. May be called at any time and more than once."""
        ...


def put(target: Settable, setting: Setting | None) -> Setting | None:
    """Applies a setting, or puts the default back for None; what is in effect then, None for the default."""
    if setting is None:
        target.restore()
        return None
    return target.apply(setting)


class Target(Settable, Protocol):
    """A server that one setting at a time is applied to and measured with.

    A target starts and ends in its default (every knob on `auto`): whoever applies settings calls `restore` in the
    end, also after an error. `Modelled` has what a target that is no machine says of itself; `bayop.testing.targets`
    has the suite that every target passes.

    Example:
        >>> from bayop import Knob, Measurement, Space, Steps, Target, tune
        >>> from bayop.target.base import Modelled
        >>> class Pool(Modelled):  # threads cost power, and take work off each other's queues
        ...     name, description, qps = "pool", "a pool of threads", 1000.0
        ...     space = Space((Knob("app.threads", Steps(1, 32, 1), safest="high"),))
        ...     quantities = frozenset({"power_w", "p99_us"})
        ...     threads = 8
        ...     def apply(self, setting):
        ...         in_effect = self.space.check(setting)
        ...         self.threads = in_effect["app.threads"]
        ...         return in_effect
        ...     def measure(self):
        ...         return Measurement({"power_w": 40.0 + 2.0 * self.threads, "p99_us": 4000.0 / self.threads})
        ...     def baseline(self):
        ...         return None
        ...     def restore(self):
        ...         self.threads = 8
        >>> pool: Target = Pool()  # a type checker compares them: nothing has to be inherited
        >>> found = tune(pool, "p99<900us").setting
        >>> 5 <= found["app.threads"] < 8
        True
    """

    @property
    def name(self) -> str:
        """The kind of target: `study`, `twin`, `agent`."""
        ...

    @property
    def qps(self) -> float:
        """Offered load, in requests/s."""
        ...

    @property
    def is_live(self) -> bool:
        """Whether a real machine is changed, whose service has clients: steps are small and savings confirmed there."""
        ...

    @property
    def vantage(self) -> str:
        """Where its latency is seen: `client`, `probe`, `server+wait`; `model` where nobody waits."""
        ...

    @property
    def estimated(self) -> frozenset[str]:
        """Quantities that a model stands in for, which is said wherever their numbers appear."""
        ...

    @property
    def doubts(self) -> Sequence[str]:
        """What makes its numbers doubtful whatever is measured, for people."""
        ...

    def measure(self) -> Measurement:
        """One window of time with the setting in effect; censored when it was cut short because of its harm."""
        ...

    def baseline(self) -> Measurement | None:
        """One window of the default, or None when this target can't show it. Applies nothing."""
        ...

    def keep(self) -> str | None:
        """Leaves what is applied in effect after us; returns the command that takes it back, None if nothing lasts."""
        ...


class Modelled:
    """What a target that is no machine says of itself; a base for implementations."""

    is_live: Final = False
    vantage: Final = "model"
    estimated: Final = frozenset[str]()
    doubts: Sequence[str] = ()

    def keep(self) -> None:
        """Nothing lasts."""
