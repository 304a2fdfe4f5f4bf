"""The first service of a machine's `bayop.toml`, observed and nothing else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from bayop.errors import InputError
from bayop.live.agent.address import SOCKET
from bayop.machine.first_files import PROBES
from bayop.slo import Slo

_HERE: Final = "127.0.0.1"
_OWN: Final = "service"
"""What it is called when only its source of latency is known."""

HEAD: Final = """\
# The services that bayop run keeps at their sweet spot; docs/operate.md explains every key.
state = "/var/lib/bayop-run/bayop.db"
"""
"""A file with no service, where the package's own is gone."""


def first_service(services: Sequence[tuple[str, int]], latency: str | None, slo: Slo) -> tuple[str, str]:
    """The service's name, and its table.

    Args:
        services: What listens here: process and TCP port.
        latency: Where its latency comes from; None for a probe of the first of them.
        slo: Its SLO.

    Raises:
        InputError: no source is given, and nothing listens that can be probed.
    """
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
        'mode = "observe"            # writes nothing; apply: search and hold',
    ]
    return name, "\n".join(lines) + "\n"
