"""How long packets for a server in a namespace wait, set without an agent."""

from __future__ import annotations

from bayop.experiments.rig.veth import SERVER_DEVICE, VethPair


def defer(pair: VethPair, *, gro_flush_timeout_us: int, defer_hard_irqs: int = 1) -> None:
    """Sets how long packets for the server wait; a timeout of 0 defers nothing."""
    folder = f"/sys/class/net/{SERVER_DEVICE}"
    deferral = defer_hard_irqs if gro_flush_timeout_us else 0
    # sysfs shows the devices of the namespace that it was mounted in.
    script = (
        "mount -t sysfs none /sys && "
        f"echo {deferral} >{folder}/napi_defer_hard_irqs && "
        f"echo {gro_flush_timeout_us * 1000} >{folder}/gro_flush_timeout"
    )
    pair.server.run("unshare", "--mount", "sh", "-c", script)
