"""What a controller has done to a setting while it held it, for whoever keeps the books."""

from __future__ import annotations

from dataclasses import dataclass

from bayop.space import Setting
from bayop.switchback import HeldSaving, Switchback


@dataclass(frozen=True, slots=True)
class SwitchedBack:
    """The default was in effect for a window, between two windows of the setting that is held.

    Attributes:
        start_s: When the window before it began.
        end_s: When the window after it ended.
        setting: What is held.
        power_w: What the three windows took, in W.
    """

    start_s: float
    end_s: float
    setting: Setting
    power_w: Switchback


@dataclass(frozen=True, slots=True)
class Polished:
    """Another setting is held, a notch away.

    Attributes:
        setting: What is held now.
        instead_of: What was held.
        qps: The load at which it is held, in requests/s.
        missed_slo: Whether that had missed the SLO in its first windows, so that what was held before it is back; else
            the model is sure that the new one is better and safe.
    """

    setting: Setting
    instead_of: Setting
    qps: float
    missed_slo: bool


@dataclass(frozen=True, slots=True)
class LetGo:
    """The default is back, because what was held saves nothing.

    Attributes:
        setting: What was held.
        saving_w: What its switchbacks and those of the settings held before it say.
    """

    setting: Setting
    saving_w: HeldSaving


Note = SwitchedBack | Polished | LetGo
