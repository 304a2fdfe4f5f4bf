"""The first service of a machine's `bayop.toml`: nothing is written for it, and what could be is said where asked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final, Literal

from bayop.errors import InputError
from bayop.live.agent.address import SOCKET
from bayop.machine.first_files import PROBES, Inventory, knob_ranges
from bayop.slo import Slo

FirstMode = Literal["observe", "advise"]
"""Modes that write nothing to the machine."""

_TWINS: Final[Mapping[str, str]] = {"memcached": "linux-memcached"}
"""Profiles that were fitted to a service of this name."""

_HERE: Final = "127.0.0.1"
_OWN: Final = "service"
"""What it is called when only its source of latency is known."""

HEAD: Final = """\
# The services that bayop run keeps at their sweet spot; docs/operate.md explains every key.
state = "/var/lib/bayop-run/bayop.db"
"""
"""A file with no service, where the package's own is gone."""


def first_service(inventory: Inventory, latency: str | None, slo: Slo, mode: FirstMode) -> tuple[str, str]:
    """The service's name, and its tables.

    Args:
        inventory: What was found on the machine.
        latency: Where its latency comes from; None for a probe of the first service that listens here.
        slo: Its SLO.
        mode: What is done for it: of several services, the first with a twin is advised.

    Raises:
        InputError: no source is given and nothing listens that can be probed, or there is nothing to make advice of.
    """
    services = inventory.services
    if mode == "advise":
        services = [service for service in services if service[0] in _TWINS]
        _check_advice(inventory, services)
    name, source, why = _OWN, latency, "as it was given"
    if services:
        name, port = services[0]
        why = f"for {name} on port {port}"
        source = latency or f"probe:{PROBES[name].format(host=_HERE, port=port)}"
    if source is None:
        raise InputError(
            "there must be a service whose latency can be seen",
            wrong="no memcached, Redis, nginx or Apache listens here",
            parameter="latency",
            hint="start it, or name what knows the latency of yours (docs/latency.md)",
        )
    lines = [
        "",
        f"# Added by bayop init --start, {why}. A probe from this machine passes no NIC: before mode apply, take what",
        "# clients see instead (docs/latency.md).",
        f"[service.{name}]",
        f'agent = "{SOCKET}"',
        f"latency = {json.dumps(source, ensure_ascii=False)}",
        f'slo = "{slo}"',
        f'mode = "{mode}"            # writes nothing; apply: search and hold',
    ]
    if mode == "advise":
        lines += [
            f'twin = "{_TWINS[name]}"     # is asked what a search would find; a study of this server knows better',
            "",
            f"[service.{name}.knobs]       # what it would set: LOW:HIGH:STEP, or all that the machine takes",
            *(f'"{knob_id}" = "{values}"' for knob_id, values in knob_ranges(inventory).items()),
        ]
    return name, "\n".join(lines) + "\n"


def _check_advice(inventory: Inventory, services: Sequence[tuple[str, int]]) -> None:
    """Refuses what nothing can be foretold of.

    Raises:
        InputError: no service has a twin, or the machine has nothing to set.
    """
    if not services:
        found = ", ".join(name for name, _ in inventory.services)
        raise InputError(
            f"the service must be one with a twin to be advised at once: {', '.join(_TWINS)}",
            wrong=f"{found} has none" if found else "none listens here",
            parameter="mode",
            hint="mode observe, and later advise_from a study of it (docs/operate.md)",
        )
    if not knob_ranges(inventory):
        raise InputError(
            wrong="this machine has no knob that advice could be about",
            parameter="mode",
            hint="bayop doctor says what is missing; mode observe needs none",
        )
