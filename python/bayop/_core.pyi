# ruff: noqa: PYI021 - the stub is where the extension is documented
"""Compiled parts of BayOp: the digital twin, the load generator and the knob catalogue."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Literal, NotRequired, TypedDict, final, type_check_only

__all__ = [
    "Error",
    "LoadConnections",
    "LoadReport",
    "Profile",
    "__version__",
    "driver_rules",
    "examine",
    "find_idle_states",
    "find_knobs",
    "find_nics",
    "find_services",
    "idle_follow",
    "idle_governors",
    "idle_replay",
    "knob_catalogue",
    "knob_spellings",
    "load_arrivals",
    "load_check_header",
    "load_choose",
    "load_draw",
    "load_preload",
    "load_run",
    "load_trace_counts",
    "load_trace_times",
    "record_machine",
    "simulate",
    "unpack_machine",
]

__version__: str

class Error(Exception):
    """What the core can't do."""

    kind: str
    """Whose fault it is: `input`, `failed`, `unsupported` or `drift`."""
    wrong: str | None
    """What happened; None when that is just a value that can't be used."""
    rule: str | None
    """What must hold."""
    value: str | None
    """What was given."""
    place: str | None
    """File, line and key, a field of the plan, or a server, as far as known."""
    hint: str | None
    """What to do about it."""

@final
class Profile:
    """A parsed profile: a machine, an operating system and an application."""

    def __new__(cls, toml: str, source: str = "profile") -> Profile:
        """Parse TOML text; `source` names it in errors. Raises Error."""

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
    def closed_loop(self) -> bool:
        """Whether the load is one message that goes back and forth, rather than a request rate."""

    @property
    def polls(self) -> bool:
        """Whether cores spin on their queues instead of taking interrupts."""

    def knobs(self) -> dict[str, tuple[float, float, float] | list[float]]:
        """What can be set, by knob id: least, greatest and step of its values, or a list of all of them."""

    def values(self) -> dict[str, float]:
        """Every number by its dotted key, such as `machine.idle_states.2.exit_latency_us`."""

    def with_values(self, values: Mapping[str, float | str]) -> Profile:
        """The same profile with some values replaced. Raises Error."""

    def to_toml(self) -> str:
        """TOML text of the profile, without comments."""

    def __eq__(self, value: object, /) -> bool: ...

@type_check_only
class Run(TypedDict):
    """One simulation."""

    qps: NotRequired[float | None]
    """Offered load of an open loop in requests per second ..."""
    message_bytes: NotRequired[float | None]
    """... or the message of a closed loop."""
    setting: NotRequired[Mapping[str, float] | None]
    """Values by knob id; a knob that is not in it is left to the operating system."""
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
    core_idle_residency: dict[str, list[float]]
    """The same of each of these cores; what the states of a core leave of 1, it operated."""
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
    Raises Error for the first run that cannot be simulated.
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
    domain: str
    """The values that it takes, and where the bounds come from."""
    read: str
    """The kernel interface that shows it."""
    write: str
    """The kernel interface that sets it."""
    undo: str
    """How a write is undone."""
    safest: Literal["low", "high"] | None
    """Which end of a numeric domain makes the service fastest."""
    only_with: dict[str, str]
    """What other knobs must be set to for this one to matter, as `parse_condition` reads it."""
    opt_in: bool
    """Whether it reaches below the kernel's own drivers, so that nobody should allow it without a reason."""
    hazards: list[str]
    """What a write may do beside setting the value."""
    source: str
    """Where the kernel documents it."""

def knob_catalogue() -> list[KnobEntry]:
    """Every knob that BayOp knows, in the order of the catalogue."""

@type_check_only
class KnobSpelling(TypedDict):
    """How programs spell a knob that set it without BayOp."""

    ethtool: str | None
    """The parameter of `ethtool -C`."""
    link: str | None
    """The key of a systemd.link file."""
    without: list[str] | None
    """ethtool's parameter and systemd.link's key of the switch that must be off, because it takes the knob over."""
    files: list[str]
    """Files, in the order in which they are written; `{1}` stands for the place, `{2}` for what follows its slash."""
    factor: int | None
    """How many of the files' units are one of the knob's; None for one."""
    words: dict[str, str]
    """What the files have for some of the knob's values."""
    everywhere: str | None
    """The place, as a shell's pattern, where the knob is meant on the whole machine; None where one must be named."""

def knob_spellings() -> dict[str, KnobSpelling]:
    """How programs spell each knob that some do."""

@type_check_only
class DriverRule(TypedDict):
    """What a network driver makes of some coalescing parameters."""

    name: str
    """As in `/sys/class/net/DEVICE/device/driver`, such as `ixgbe`."""
    parameters: list[str]
    """As the catalogue spells them: `rx_usecs`."""
    rule: str
    """What it takes, how it rounds, and what it then shows."""
    reserved: list[str]
    """Values that stand for something else, or that it refuses."""
    hazards: list[str]
    """What a write may do beside setting the value."""
    source: str
    """The file of the kernel's sources that has the rule."""

def driver_rules() -> list[DriverRule]:
    """What network drivers make of the coalescing parameters, in the order of the catalogue."""

@type_check_only
class LoadCounts(TypedDict):
    """How many requests met which fate; all but the last five are of those that were due in the measurement."""

    intended: int
    """Requests that were due."""
    answered: int
    """Answered as asked: hits, misses and stores."""
    timestamped: int
    """Of these, those of which the kernel has told when they came in; of the others it counts when they were read."""
    refused: int
    """Answered with an error message."""
    lost_closed: int
    """Lost with a connection that broke."""
    lost_timed_out: int
    """Not answered within the timeout."""
    lost_garbage: int
    """Lost with a connection on which the server sent something that is no reply."""
    lost_unconnected: int
    """Due while no connection was open."""
    gets: int
    """Answered reads."""
    misses: int
    """Of these, answered that there is no such record."""
    status_2xx: int
    """Answers over HTTP by the class of their status: success."""
    status_3xx: int
    """Redirections, which are not followed."""
    status_4xx: int
    """Errors of the client: 404 and 410 are misses, the others refused."""
    status_5xx: int
    """Errors of the server, all refused."""
    answers_in_time: int
    """Good answers that came while the measurement lasted, whenever their requests were due."""
    bytes_sent: int
    """While the measurement lasted."""
    bytes_received: int
    """While the measurement lasted."""
    reconnects: int
    """Connections opened anew since the warm-up."""
    queued: int
    """Requests that waited for room under the depth limit, or for a connection."""

@type_check_only
class Lateness(TypedDict):
    """How late the generator sent, in us; None when it sent nothing."""

    p50_us: float | None
    p99_us: float | None
    max_us: float | None
    is_on_time: bool
    """Whether p50 and p99 of the latency would be smaller by at most a fifth without it."""

@type_check_only
class Stored(TypedDict):
    """What a preload stored in every server."""

    records: int
    value_bytes: int

@final
class LoadReport:
    """What one or several generators saw."""

    @staticmethod
    def from_json(text: str) -> LoadReport:
        """Read what `to_json` wrote. Raises Error."""

    def to_json(self) -> str:
        """As JSON, for another machine."""

    def copy(self) -> LoadReport:
        """Another one with the same in it."""

    def merge(self, other: LoadReport) -> None:
        """Add what another generator saw at the same time; histograms merge exactly."""

    def append(self, later: LoadReport) -> None:
        """Add what was seen in a later measurement of the same thing."""

    def quantiles(self, wanted: Sequence[float]) -> list[tuple[float, float | None, float | None, float | None]]:
        """Latency quantiles in us: which, the value, and the ends of its 95 % confidence interval.

        A request without an answer counts as slower than all others: a quantile that falls on one is None.
        """

    def punctual_quantiles(self, wanted: Sequence[float]) -> list[float | None]:
        """What the latency quantiles of answered requests would be in us, had every request been sent in time."""

    def mix(self, wanted: Sequence[float]) -> list[tuple[str, int, int, list[float | None]]]:
        """What was seen of each request of a mix that was sent: name, requests, failed ones, latency quantiles in us.

        A request that failed counts as slower than all others: a quantile that falls on one is None.
        """

    def lateness(self) -> Lateness:
        """How late the generator was."""

    def counts(self) -> LoadCounts:
        """How many requests met which fate."""

    def troubles(self) -> dict[str, int]:
        """What went wrong, in words, and how often."""

    @property
    def mean_us(self) -> float | None:
        """Mean latency; None when nothing was answered."""

    @property
    def duration_s(self) -> float:
        """Length of the measurement."""

    @property
    def ended_early(self) -> bool:
        """Whether the measurement ended because the interval was narrow enough."""

    @property
    def interrupted(self) -> bool:
        """Whether somebody ended it."""

    def histogram(self) -> list[tuple[float, int]]:
        """Every latency that was recorded, in us with three significant digits, and how often."""

    def to_hgrm(self) -> str:
        """The percentile distribution in HdrHistogram's text format, in us."""

    def samples(self) -> bytes:
        """Intended, sent and received time of every answered request: native 64-bit integers, in ns since the start."""

def load_preload(plan: str) -> Stored:
    """Store every record of a plan (JSON) in every server, and read it back. Raises Error."""

@final
class LoadConnections:
    """Connections that outlive a run, for a further one with the same of them."""

    def __init__(self) -> None: ...

def load_run(
    plan: str,
    *,
    connections: LoadConnections | None = None,
    stop: Callable[[], bool] | None = None,
    watch: Callable[[int, float | None, float | None], None] | None = None,
) -> LoadReport:
    """Run a plan (JSON), over the connections that an earlier run has left where some are given.

    Releases the interpreter meanwhile. Ctrl-C ends the load, as does `stop`, which is asked twenty times a second, when
    it returns true; the report says so. `watch` is told as often what was seen until then: how many requests, and their
    p50 and p99 in us. Raises Error.
    """

def load_draw(distribution: str, count: int, seed: int) -> list[float]:
    """Numbers from a distribution, as the sizes and gaps of a plan are drawn. Raises Error."""

def load_choose(popularity: str, records: int, count: int, seed: int) -> list[int]:
    """Records as a popularity chooses them. Raises Error."""

def load_check_header(header: str) -> None:
    """Refuse what is no header of an HTTP request (`Name: value`). Raises Error."""

def load_arrivals(plan: str, thread: int, count: int) -> list[int]:
    """The first intended send times of one thread of a plan, in ns since the start of the run. Raises Error."""

@type_check_only
class Finding(TypedDict):
    """The result of one check of the doctor."""

    check: str
    """What was looked at: `kernel`, `knob nic.rx_usecs`, `rival tuned`."""
    status: Literal["ok", "note", "missing", "blocker"]
    """What it means."""
    found: str
    """What is there."""
    why: str
    """Why it matters."""
    remedy: str | None
    """What to do; None when there is nothing to do."""

def examine(*, root: PathLike[str] | str | None = None) -> list[Finding]:
    """What this machine, or a recorded one, lets BayOp control and measure, and what is missing. Reads only."""

@type_check_only
class FoundKnob(TypedDict):
    """One knob in one place."""

    id: str
    """Such as `nic.rx_usecs`."""
    at: str
    """Such as `eth0`."""
    steps: tuple[float, float, float] | None
    """The least and greatest value and their step, in the knob's unit; None where it takes a list of values."""

def find_knobs(*, root: PathLike[str] | str | None = None) -> list[FoundKnob]:
    """The knobs of this machine, or of a recorded one. Reads only."""

@type_check_only
class Nic(TypedDict):
    """A network device that is no loopback."""

    name: str
    """Such as `eth0`."""
    driver: str | None
    """None for a device without hardware."""
    has_default_route: bool
    """Whether the default route leads through it, or through one that it is part of."""
    rx_packets: int
    """What it has received since it is up."""

def find_nics(*, root: PathLike[str] | str | None = None) -> list[Nic]:
    """The network devices of this machine, or of a recorded one: that of the default route first."""

def find_services(*, root: PathLike[str] | str | None = None) -> list[tuple[str, int]]:
    """The servers that listen and that the load generator can speak to: process name and TCP port."""

def record_machine(*, root: PathLike[str] | str | None = None) -> str:
    """What BayOp sees of this machine, or of a recorded one, in the format of `tests/machines`, without comments."""

def unpack_machine(text: str, folder: PathLike[str] | str) -> None:
    """Writes a recorded machine's files into a folder. Raises ValueError, with the line at fault."""

def load_trace_counts(path: str | PathLike[str], bin_s: float) -> list[int]:
    """Requests of a recorded trace (CSV, time in s first; also .zst) in each complete bin. Raises Error."""

def load_trace_times(path: str | PathLike[str], most: int) -> list[float]:
    """Times of the first requests of a recorded trace, in s since the first one. Raises Error."""

@type_check_only
class IdleOutcome(TypedDict):
    """What a governor made of a trace of idle periods."""

    energy_us: float
    """Energy, as the time that a polling core takes for as much."""
    least_energy_us: float
    """The least that any governor could have taken who knows every length, but has no timer of its own."""
    decisions: int
    """How often it was asked."""
    too_deep: int
    """Stays that were shorter than the target residency of their state."""
    too_shallow: int
    """Stays for which a deeper state would have been right."""
    own_wakes: int
    """Wake-ups by its own timer."""
    wake_latency_mean_us: float
    """How long what ended a period waited for the core, timers aside."""
    wake_latency_p99_us: int
    """Its 99th percentile."""
    ns_per_decision: float
    """Time of a decision beyond that of a governor which has none to make."""
    stays: list[tuple[int, int, int, int | None]]
    """Where asked for: period, state, length until something woke the core, us, and how late it was, us."""

def idle_governors() -> list[str]:
    """Names of the governors that can be replayed."""

def find_idle_states(*, root: PathLike[str] | str | None = None) -> list[tuple[str, int, int]]:
    """The idle states of this machine or a recorded one: name, exit latency and target residency, us. Raises Error."""

def idle_follow(
    states: Sequence[tuple[int, int, float]],
    stays: Sequence[tuple[int, int, int, int, int, int, int, int]],
    governor: str,
    *,
    price: float = 0.1,
    limit_us: int = 50,
) -> list[list[int]]:
    """How often each state was chosen for recorded stays: by the kernel that recorded them, then by a governor.

    Raises Error.

    Args:
        states: As for `idle_replay`.
        stays: As in `bayop.idle.stays`, without `resumed`.
        governor: One of `idle_governors`.
        price: What `bayop` pays for 1 us of latency, in us of a polling core.
        limit_us: What is late for `bayop-slo`.
    """

def idle_replay(
    states: Sequence[tuple[int, int, float]],
    periods: Sequence[tuple[int, int, int, int, int, int]],
    governor: str,
    *,
    price: float = 0.1,
    limit_us: int = 50,
    stays: bool = False,
) -> IdleOutcome:
    """Replays idle periods under a governor. Raises Error.

    Args:
        states: Exit latency and target residency, us, and power as a share of a polling core's, from the shallowest.
        periods: As in `bayop.idle.trace`.
        governor: One of `idle_governors`.
        price: What `bayop` pays for 1 us of latency, in us of a polling core.
        limit_us: What is late for `bayop-slo`.
        stays: Whether to return every stay.
    """
