"""What [Y]'s evaluation compares: governors of idle states, with or without the balancer of awakened requests."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from bayop import _core
from bayop.space import MAX_LATENCY_US, Setting
from bayop.twin.profile_library import with_values
from bayop.twin.windows import simulation_run

BALANCERS: Final = ("none", "yawn")
"""Words of `os.wake_balancer`: requests are served where their threads are, or gathered on cores that operate."""


@dataclass(frozen=True, slots=True)
class Policy:
    """Who puts cores to sleep and where requests are served.

    Attributes:
        governor: None is the profile's own.
        off: No idle state may be entered, as with all of them disabled.
        published: What [Y] calls it.
    """

    name: str
    governor: str | None = None
    balancer: str = "none"
    off: bool = False
    published: str | None = None

    def server(self, profile: _core.Profile) -> _core.Profile:
        """The server under this policy.

        Raises:
            InputError: the profile has no such governor or can't have the balancer.
        """
        words = {} if self.governor is None else {"os.idle_governor": self.governor}
        return with_values(profile, {**words, "os.wake_balancer": self.balancer})

    def run(
        self,
        profile: _core.Profile,
        qps: float,
        *,
        requests: int,
        seed: int,
        setting: Setting = MappingProxyType({}),
    ) -> _core.Run:
        """One run of the core at a load in requests/s, on `server(profile)`; what `setting` leaves out stays `auto`."""
        limit: Setting = {MAX_LATENCY_US: 0.0} if self.off else {}
        run = simulation_run(profile, {**setting, **limit}, load=qps, requests=requests, seed=seed)
        return {**run, "profile": self.server(profile)}


MENU: Final = Policy("menu", published="menu")
OFF: Final = Policy("off", off=True, published="off")
YAWN: Final = Policy("yawn, balancer", "yawn", "yawn", published="yawn")
"""What [Y] published as Yawn is its whole system, the balancer with it."""
BAYOP: Final = Policy("bayop, balancer", "bayop", "yawn")

POLICIES: Final = (
    MENU,
    Policy("menu, balancer", balancer="yawn"),
    OFF,
    Policy("yawn", "yawn"),
    YAWN,
    Policy("bayop", "bayop"),
    BAYOP,
)
