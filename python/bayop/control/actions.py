"""What a controller wants done, and what it is answered."""

from __future__ import annotations

from dataclasses import dataclass

from bayop.measurement import Measurement
from bayop.space import Setting


@dataclass(frozen=True, slots=True)
class Apply:
    """Put a setting in effect, None for the default, and answer with what then is."""

    setting: Setting | None


@dataclass(frozen=True, slots=True)
class Watch:
    """Leave everything as it is until then, and answer with what was measured; earlier when the window was cut short.

    Attributes:
        until_s: When the window ends.
    """

    until_s: float


@dataclass(frozen=True, slots=True)
class Done:
    """The end has come. What is in effect stays."""


Action = Apply | Watch | Done


@dataclass(frozen=True, slots=True)
class Applied:
    """What is in effect, None for the default; rounding may have changed what was asked for."""

    setting: Setting | None


@dataclass(frozen=True, slots=True)
class FellBack:
    """The server's own guard has put the default back, while a setting was held.

    Attributes:
        measurement: What was seen of the window, which was cut short by it.
        by_latency: Whether clients waited for too long, so that the setting is to blame; else the load was another, or
            nobody said anything.
    """

    measurement: Measurement
    by_latency: bool


Answer = Applied | Measurement | FellBack
