# ruff: noqa: PYI021 - the stub is where the extension is documented
"""Compiled parts of BayOp: the digital twin and the knob catalogue."""

from collections.abc import Mapping, Sequence
from typing import Literal, NotRequired, TypedDict, final, type_check_only

__all__ = ["Profile", "ProfileError", "__version__", "knob_catalogue", "simulate"]

__version__: str

class ProfileError(ValueError):
    """A profile, setting or run that cannot be used."""

    rule: str
    """What must hold."""
    value: str
    """What was given."""
    place: str
    """File, line and key, as far as known."""
    hint: str
    """What to do about it; may be empty."""

@final
class Profile:
    """A parsed profile: a machine, an operating system and an application."""

    def __new__(cls, toml: str, source: str = "profile") -> Profile:
        """Parse TOML text; `source` names it in errors. Raises ProfileError."""

    @property
    def name(self) -> str:
        """What people call this server."""

    @property
    def serving_cores(self) -> int:
        """Cores that serve requests."""

    @property
    def freq_mhz(self) -> list[float]:
        """P-states in MHz, ascending."""

    @property
    def rx_usecs(self) -> tuple[float, float, float]:
        """Least, greatest and step of rx-usecs."""

    def values(self) -> dict[str, float]:
        """Every number by its dotted key, such as `machine.idle_states.2.exit_latency_us`."""

    def with_values(self, values: Mapping[str, float | str]) -> Profile:
        """The same profile with some values replaced. Raises ProfileError."""

    def to_toml(self) -> str:
        """TOML text of the profile, without comments."""

    def __eq__(self, value: object, /) -> bool: ...

@type_check_only
class Run(TypedDict):
    """One simulation."""

    qps: float
    """Offered load in requests per second."""
    rx_usecs: NotRequired[float | None]
    """Interrupt delay; None or absent leaves it to the operating system."""
    freq_mhz: NotRequired[float | None]
    """Pinned frequency; None or absent leaves it to the operating system."""
    requests: NotRequired[int | None]
    """Length of the window in requests (200,000 when no length is given) ..."""
    duration_s: NotRequired[float | None]
    """... or in simulated seconds."""
    warmup_s: NotRequired[float | None]
    """Simulated time before the window; by default a tenth of it, more when a governor settles."""
    seed: NotRequired[int | None]
    """Seed of all randomness; 0 by default."""
    profile: NotRequired[Profile | None]
    """A server of its own for this run."""

@type_check_only
class EnergyParts(TypedDict):
    """Package energy by part, J; the parts sum to energy_j."""

    static: float
    busy: float
    halted: float
    settled: float

@type_check_only
class Measurement(TypedDict):
    """What the window showed. Latencies are the clients'; None when no request completed."""

    power_w: float
    energy_j: float
    energy_parts_j: EnergyParts
    p5_us: float | None
    p50_us: float | None
    p90_us: float | None
    p95_us: float | None
    p99_us: float | None
    p999_us: float | None
    mean_us: float | None
    utilization: float
    """Share of the serving cores' time not halted (0 to 1)."""
    interrupts_per_s: float
    qps: float
    """Requests answered per second."""
    duration_s: float
    completed: int
    dropped: int
    idle_residency: dict[str, float]
    """Share of the serving cores' time in each idle state; sums to 1 - utilization."""
    idle_entries_per_s: dict[str, float]
    rx_usecs: float
    """In effect: as rounded by the driver, or the mean of what adaptive moderation chose."""
    freq_mhz: float
    """Mean while busy."""
    instructions: float
    packets_per_s: float
    thread_wakes_per_s: float

def simulate(profile: Profile, runs: Sequence[Run], *, threads: int = 1) -> list[Measurement]:
    """Simulate every run; one measurement for each, in order.

    Releases the interpreter meanwhile; Ctrl-C interrupts. Results do not depend on `threads`.
    Raises ProfileError for the first run that cannot be simulated.
    """

@type_check_only
class KnobEntry(TypedDict):
    """What one knob is, on every machine."""

    id: str
    """`domain.name_unit`, such as `nic.rx_usecs`."""
    summary: str
    """What it does, in one sentence."""
    unit: str | None
    """The unit of its numbers; None for named choices and counts."""
    place: str
    """What its places are called."""
    read: str
    """The kernel interface that shows it."""
    write: str
    """The kernel interface that sets it."""
    undo: str
    """How a write is undone."""
    safest: Literal["low", "high"] | None
    """Which end of a numeric domain makes the service fastest."""
    hazards: list[str]
    """What a write may do beside setting the value."""
    source: str
    """Where the kernel documents it."""

def knob_catalogue() -> list[KnobEntry]:
    """Every knob that BayOp knows, in the order of the catalogue."""
