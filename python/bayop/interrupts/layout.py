"""What the numbers of a log mean: clock rates, energy unit, counter widths, idle states."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Final, Literal

from bayop.errors import InputError
from bayop.json_text import parse_object

INTERRUPT_COLUMNS: Final = ("entry", "time_ticks", "rx_descriptors", "rx_bytes", "tx_descriptors", "tx_bytes")
"""What every record has; a descriptor is a packet's place in the ring of the NIC."""
IDLE_NS: Final = "idle_ns_"
"""An amount whose name begins so is the ns that the CPU was in an idle state, since its record before."""
ENERGY_UJ: Final = "energy_uj"
"""An amount: what the whole machine has drawn since the log's record before; the first record has 0."""
COUNTERS: Final = ("instructions", "cycles", "ref_cycles", "llc_misses", "energy_units")
"""Running counters that only some records have sampled."""

TSC_HZ: Final = 2_899_999_000
"""Time stamp counter of the papers' server: `tsc_khz = 2899999` in the driver's boot message."""
ENERGY_UNIT_J: Final = 2.0**-16
"""RAPL energy unit of the papers' server, 15.26 uJ (MSR 0x606 of a Sandy Bridge Xeon)."""

IdleMeaning = Literal["residency", "entries", "entries_per_record"]


@dataclass(frozen=True, slots=True)
class Layout:
    """One kind of log.

    Attributes:
        name: What people call it.
        tick_hz: Rate of `time_ticks`.
        tsc_hz: Rate of `ref_cycles` while the core is not halted.
        energy_unit_j: Energy of one `energy_units`.
        energy_bits: Width of the energy counter, which wraps (RAPL: 32 bits); None where it can't.
        counter_bits: Width of the counters of the PMU (Intel: 48 bits); None where they can't wrap.
        idle_states: Columns about the idle states.
        idle_meaning: `residency`: running time in the state in TSC ticks; `entries`: running count of entries;
            `entries_per_record`: entries since the record before.
        has_counters: Whether some records have sampled the counters.
        labels: Further columns of every record that add up to nothing, such as its CPU.
        amounts: Further columns of every record that add up, such as the ns in its softirq.
    """

    name: str
    tick_hz: int
    tsc_hz: int
    energy_unit_j: float
    energy_bits: int | None
    counter_bits: int | None
    idle_states: tuple[str, ...] = ()
    idle_meaning: IdleMeaning = "entries"
    has_counters: bool = True
    labels: tuple[str, ...] = ()
    amounts: tuple[str, ...] = ()

    @property
    def every(self) -> tuple[str, ...]:
        """The columns of every record."""
        return (*INTERRUPT_COLUMNS, *self.labels, *self.amounts)

    @property
    def sampled(self) -> tuple[str, ...]:
        """The columns of a sample."""
        return (*COUNTERS, *self.idle_states) if self.has_counters else ()

    def bits(self, column: str) -> int | None:
        """Width of a running counter, None where it can't wrap."""
        if column in self.idle_states:
            return None
        return self.energy_bits if column == "energy_units" else self.counter_bits

    def to_json(self) -> str:
        """The layout as text, for the metadata of a file."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Layout:
        """The layout that `to_json` wrote.

        Raises:
            InputError: it is something else.
        """
        try:
            fields = parse_object(text)
            lists = {name: tuple(fields.get(name, ())) for name in ("idle_states", "labels", "amounts")}
            layout = cls(**{**fields, **lists})
            if layout.tick_hz > 0 and layout.tsc_hz > 0 and layout.energy_unit_j > 0.0:
                return layout
        except (InputError, TypeError, KeyError):
            pass
        raise InputError("the metadata of a converted log must describe its layout", value=text[:200])
