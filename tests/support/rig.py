"""What is in effect on the device of an experiment's rig."""

from __future__ import annotations

from bayop.experiments.rig.namespaces import Rig


def deferral_of(rig: Rig) -> tuple[int, int]:
    """`gro_flush_timeout` in ns, and `napi_defer_hard_irqs`."""
    attributes = rig.attributes()
    return int(attributes["gro_flush_timeout"]), int(attributes["napi_defer_hard_irqs"])
