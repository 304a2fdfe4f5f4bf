"""The first `agent.toml` and `live.toml` of a machine, with comments that explain each choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from textwrap import wrap
from typing import Final

from bayop.live.agent.address import SOCKET
from bayop.live.agent.messages import Finding
from bayop.machine.verdict import METER, finding_of
from bayop.space import DEFER_HARD_IRQS, FREQ_MHZ, GRO_FLUSH_TIMEOUT_US, RX_USECS

_LONGEST_US: Final = 500.0
"""The longest delay that is searched at first; SLOs of servers lie about there."""
_STEP_US: Final = 10.0
_GREATEST_US: Final = 1000.0
"""The longest delay that is allowed at first."""
PROBES: Final[Mapping[str, str]] = {
    "memcached": "memcached://{host}:{port}",
    "redis-server": "redis://{host}:{port}",
    "valkey-server": "redis://{host}:{port}",
    "nginx": "http://{host}:{port}/",
    "apache2": "http://{host}:{port}/",
}


@dataclass(frozen=True, slots=True)
class Nic:
    """A network device, with its driver (None without hardware) and whether the default route leads through it."""

    name: str
    driver: str | None
    has_default_route: bool
    rx_packets: int


@dataclass(frozen=True, slots=True)
class Inventory:
    """What was found on a machine.

    Attributes:
        host: Its name, as clients may know it.
        nics: Its network devices, the likeliest first.
        services: Servers that listen: process and TCP port.
        knobs: The numbers of each knob in each place, by id and place; None where it takes a list of values.
        findings: The doctor's.
    """

    host: str
    nics: Sequence[Nic]
    services: Sequence[tuple[str, int]]
    knobs: Mapping[str, Mapping[str, tuple[float, float, float] | None]]
    findings: Sequence[Finding]

    def nic(self) -> Nic | None:
        """The device whose delay is worth setting: the first one with a knob of its own."""
        has_knob = {place for knob_id in (RX_USECS, GRO_FLUSH_TIMEOUT_US) for place in self.knobs.get(knob_id, {})}
        return next((nic for nic in self.nics if nic.name in has_knob), None)

    @property
    def has_meter(self) -> bool:
        """Whether power is measured, for root at least."""
        meter = self.finding(METER)
        return meter is not None and (meter.status == "ok" or (meter.remedy or "").startswith("run as root"))

    def finding(self, check: str) -> Finding | None:
        """The doctor's finding of a check."""
        return finding_of(self.findings, check)


def agent_toml(inventory: Inventory) -> str:
    """What the agent may do: turn the knobs of one NIC and of the processors, for as long as a search lasts."""
    lines = [
        "# What bayop-agent may do on this machine, written by bayop init; docs/agent.md explains every key.",
        "# Read it, then install it:",
        "#   bayop-agent check-config --config agent.toml",
        "#   sudo install -o root -m 644 agent.toml /etc/bayop/agent.toml && sudo systemctl restart bayop-agent",
        "",
        *_comment(
            "observe: read sensors and refuse settings. apply: apply those that the tables below allow, for as long as "
            "a search lasts; whatever happens, the agent puts back what it found."
        ),
        'mode = "apply"',
        "",
        *_delay(inventory),
        "",
        *_frequency(inventory),
        "",
        *power_lines(inventory),
    ]
    return "\n".join(lines) + "\n"


def live_toml(inventory: Inventory) -> str:
    """What a first search does: which knobs it turns, and where the clients' latency comes from."""
    lines = [
        "# A live search, written by bayop init; docs/live.md explains every key.",
        "#   bayop tune --target live.toml --slo 'p99<500us' --dry-run",
        "",
        "# This machine's agent. From another machine: https://HOST:9617, with [tls].",
        f'agent = "{SOCKET}"',
        "",
        *_latency(inventory),
        "",
        *_knobs(inventory),
        "",
        "[window]",
        "window_s = 2.0              # one measurement: a p99 needs some thousand requests",
        "settle_s = 0.5              # a setting works so long before it is measured",
        "",
        "[guard]",
        "latency_factor = 3.0        # a trial ends at once when clients see so many times the SLO's limit",
    ]
    return "\n".join(lines) + "\n"


def _comment(text: str) -> list[str]:
    """Comment lines, whatever is in the text."""
    words = " ".join(text.split())
    return wrap(words, 116, initial_indent="# ", subsequent_indent="# ", break_long_words=False, break_on_hyphens=False)


def _delay(inventory: Inventory) -> list[str]:
    nic = inventory.nic()
    if nic is None:
        names = ", ".join(nic.name for nic in inventory.nics) or "there is none"
        return _comment(
            f"No network device here has an interrupt delay or NAPI deferral to set ({names}); bayop doctor says what "
            "is missing."
        )
    traffic = f"it has received {nic.rx_packets} packets" if nic.rx_packets else "the first that can be set"
    route = "the default route leads through it" if nic.has_default_route else traffic
    others = ", ".join(other.name for other in inventory.nics if other != nic)
    choice = f"{nic.name} ({nic.driver or 'no driver'}): {route}. Name another device if clients come in there"
    lines = _comment(f"{choice} ({others})." if others else f"{choice}.")
    if nic.name in inventory.knobs.get(RX_USECS, {}):
        return [
            *lines,
            f'[allow."{RX_USECS}"]',
            f'places = ["{nic.name}"]',
            *_high(inventory.knobs[RX_USECS][nic.name]),
        ]
    lines += _comment(f"Its driver takes no {RX_USECS}; NAPI deferral makes packets wait instead.")
    for knob_id in _deferral(inventory, nic):
        lines += [f'[allow."{knob_id}"]', f'places = ["{nic.name}"]']
    return lines


def _high(steps: tuple[float, float, float] | None) -> list[str]:
    if steps is None or steps[1] <= _GREATEST_US:
        return []
    return [f"high = {_GREATEST_US:g}                 # us: no packet waits longer"]


def _deferral(inventory: Inventory, nic: Nic) -> list[str]:
    return [
        knob_id for knob_id in (GRO_FLUSH_TIMEOUT_US, DEFER_HARD_IRQS) if nic.name in inventory.knobs.get(knob_id, {})
    ]


def _frequency(inventory: Inventory) -> list[str]:
    driver = inventory.finding("frequency driver")
    if FREQ_MHZ in inventory.knobs:
        which = f" ({driver.found})" if driver else ""
        comment = _comment(f"One frequency for all processors, from those of their driver{which}.")
        return [*comment, f'[allow."{FREQ_MHZ}"]', 'places = ["*"]']
    remedy = driver.remedy if driver else None
    return _comment(f"This machine has no {FREQ_MHZ}: {remedy or 'bayop doctor says why'}.")


def power_lines(inventory: Inventory) -> list[str]:
    """`[power]` of an agent: the meter that was found, or a model in its place."""
    meter = inventory.finding(METER)
    measured = ["[power]", 'meter = "auto"']
    if meter is not None and meter.status == "ok":
        return [*_comment(f"Power is measured by {meter.found}."), *measured]
    remedy = (meter.remedy if meter else None) or ""
    if meter is not None and remedy.startswith("run as root"):
        return [*_comment(f"Power is measured by {meter.found}, which root may read, as the agent does."), *measured]
    return [
        *_comment(
            f"No power meter was found; to get one: {remedy.partition(';')[0]}. Until then power is estimated from "
            "utilization, and marked as an estimate wherever it appears. The two numbers are made up: put in what the "
            "server draws when it is idle and when every CPU is busy (`ipmitool dcmi power reading`, a plug). "
            "Which setting is best hardly depends on them, but every watt does."
        ),
        *measured,
        "",
        "[power.model]",
        "idle_w = 60.0",
        "busy_w = 200.0",
    ]


def _latency(inventory: Inventory) -> list[str]:
    if not inventory.services:
        return [
            *_comment(
                "No memcached, Redis, nginx or Apache listens here, so nothing could be chosen. What clients see, as "
                "latency takes it (docs/latency.md): prometheus:URL?query=PROMQL, probe:URL, or a command that "
                'prints {"vantage": "client", "p99_us": 310, "qps": 400000} for every window.'
            ),
            'latency = "./p99.sh"',
        ]
    name, port = inventory.services[0]
    probe = PROBES[name].format(host=inventory.host, port=port)
    others = "".join(f", {name} on port {port}" for name, port in inventory.services[1:])
    return [
        *_comment(
            f"{name} listens on port {port}{others}. A probe sends 200 requests/s of its own beside the service's; run "
            "bayop where the clients are, since what this machine sends to itself passes no NIC. Better, where you "
            "have them: the clients' own numbers, by prometheus:URL?query=PROMQL or a command."
        ),
        f'latency = "probe:{probe}"',
        *_load(probe),
    ]


def _load(probe: str) -> list[str]:
    """Of who counts no requests: memcached and Redis do."""
    if not probe.startswith("http:"):
        return []
    return ["", "# The service's own load in requests/s, which a probe does not see.", "# qps = 100000"]


def knob_ranges(inventory: Inventory) -> dict[str, str]:
    """The knobs of a first search with their values, as a file has them: the delay of one NIC, and the frequency."""
    nic, ranges = inventory.nic(), {}
    if nic is not None:
        ids = [RX_USECS] if nic.name in inventory.knobs.get(RX_USECS, {}) else _deferral(inventory, nic)
        ranges = {knob_id: _range(knob_id, inventory.knobs[knob_id][nic.name]) for knob_id in ids}
    if FREQ_MHZ in inventory.knobs:
        ranges[FREQ_MHZ] = "all"
    return ranges


def _knobs(inventory: Inventory) -> list[str]:
    ranges = knob_ranges(inventory)
    if not ranges:
        return _comment("No knob of this machine could be chosen; bayop doctor says what is missing.")
    lines = [f'"{knob_id}" = "{text}"' for knob_id, text in ranges.items()]
    return ["[knobs]                     # LOW:HIGH:STEP, or all that the agent allows", *lines]


def _range(knob_id: str, steps: tuple[float, float, float] | None) -> str:
    """The first values to search: few, and none of a wait longer than an SLO."""
    if steps is None:
        return "all"
    low, high, step = steps
    if knob_id == DEFER_HARD_IRQS:
        return f"{max(low, 1):g}:{min(high, 4):g}"
    wide = step * ceil(_STEP_US / step)
    last = low + wide * ((min(high, _LONGEST_US) - low) // wide)
    return f"{low:g}:{last:g}:{wide:g}"
