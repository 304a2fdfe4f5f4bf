"""What the numbers of a log mean: clock rates, energy unit, counter widths, idle states."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from bayop.errors import InputError, reason
from bayop.json_text import decoder, parse_object

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

_Rate = Annotated[int, Meta(ge=1, le=10**12)]
_Bits = Annotated[int, Meta(ge=1, le=63)]
_Energy = Annotated[float, Meta(gt=0.0, le=1e12)]
_Names = tuple[Annotated[str, Meta(min_length=1)], ...]

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
    tick_hz: _Rate
    tsc_hz: _Rate
    energy_unit_j: _Energy
    energy_bits: _Bits | None
    counter_bits: _Bits | None
    idle_states: _Names = ()
    idle_meaning: IdleMeaning = "entries"
    has_counters: bool = True
    labels: _Names = ()
    amounts: _Names = ()

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
            unknown = fields.keys() - cls.__annotations__.keys()
            if not unknown:
                decoder(cls)  # has it met the type, which `convert` alone must not do in two threads at once
                return msgspec.convert(fields, cls)
            why = f"it has {min(unknown)!r}"
        except (InputError, ValueError) as error:
            why = reason(error)
        raise InputError("the metadata of a converted log must describe its layout", value=text[:200], hint=why)
