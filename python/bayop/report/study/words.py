"""What quantities, workloads, systems and settings are called in figures and on pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from bayop.analysis.conditions import SYSTEM
from bayop.slo import quantile_of
from bayop.space import CAP_W, FREQ_MHZ, RX_USECS
from bayop.units import format_qps, format_quantity, unit_of

_QUANTITIES: Final = {
    "power_w": ("power", "W"),
    "energy_j": ("energy", "J"),
    "duration_s": ("time", "s"),
    "roundtrip_us": ("round trip", "us"),
    "goodput_mibit_s": ("goodput", "Mibit/s"),
    "energy_uj_per_request": ("energy per request", "uJ"),
    "instructions_per_request": ("instructions per request", ""),
    "cycles_per_request": ("cycles per request", ""),
    "interrupts_per_request": ("interrupts per request", ""),
    "llc_misses_per_request": ("LLC misses per request", ""),
}
# How the value of a knob reads, and what it is multiplied by.
_KNOBS: Final = ((RX_USECS, "{:g} us", 1.0), (FREQ_MHZ, "{:g} GHz", 1e-3), (CAP_W, "{:g} W cap", 1.0))


def quantity_name(quantity: str) -> str:
    """A quantity without its unit: `p99_us` is the `p99 latency`."""
    if quantile_of(quantity) is not None:
        return f"{quantity.removesuffix('_us')} latency"
    return _QUANTITIES[quantity][0] if quantity in _QUANTITIES else quantity.replace("_", " ")


def axis_label(quantity: str) -> str:
    """A quantity with its unit, for an axis."""
    unit = "us" if quantile_of(quantity) is not None else _QUANTITIES.get(quantity, ("", ""))[1]
    return f"{quantity_name(quantity)} ({unit})" if unit else quantity_name(quantity)


def amount(row: Mapping[str, Any], cost: str) -> str:
    """What a setting costs, with the unit: `74.19 W`."""
    return f"{row[cost]:.4g} {cost.rpartition('_')[2].upper()}"


def app_name(keys: Mapping[str, Any]) -> str:
    """The service; what the digital twin answered is called simulated."""
    app = str(keys.get("app") or "service")
    return f"simulated {app}" if keys.get("target") == "twin" else app


def workload_name(keys: Mapping[str, Any]) -> str:
    """A workload for people: `memcached, 600K requests/s`; the target only where the study was not published."""
    parts = [app_name(keys)]
    if keys.get("qps_offered") is not None:
        parts.append(f"{format_qps(keys['qps_offered'], 4)} requests/s")
    if keys.get("message_bytes") is not None:
        parts.append(message_size(int(keys["message_bytes"])))
    if keys.get("target") not in (None, "published", "twin"):
        parts.append(str(keys["target"]))
    return ", ".join(parts)


def message_size(size_bytes: int) -> str:
    """A size as the papers write it: `64 KB` is 65536 bytes."""
    return f"{size_bytes // 1024} KB" if size_bytes >= 1024 and size_bytes % 1024 == 0 else f"{size_bytes} B"


def system_names(conditions: Sequence[Mapping[str, Any]]) -> list[str]:
    """What tells each system of a workload from the others; its operating system where nothing does."""
    differing = [key for key in SYSTEM if len({c.get(key) for c in conditions}) > 1]
    # People know a machine by its name; its fingerprint tells only what shares all else.
    told = [key for key in differing if key != "machine_fingerprint"]
    if len({tuple(c.get(key) for key in told) for c in conditions}) < len(conditions):
        told = differing
    told = told or [key for key in ("os", "machine") if conditions and conditions[0].get(key)][:1]
    # Two profiles of one server, one of each operating system, are told apart by the operating system.
    if "os" in told and len({c.get("os") for c in conditions}) == len(conditions):
        told = ["os"]
    return [" ".join(operating_system(str(c[key])) for key in told if c.get(key)) or "server" for c in conditions]


def system_name(system: Mapping[str, Any], among: Sequence[Mapping[str, Any]]) -> str:
    """What tells one system from the others of its workload.

    Args:
        system: Its keys, with or without those of the workload.
        among: The conditions of the workload, the system's own among them.
    """
    own = [all(c.get(key) == value for key, value in system.items() if key in SYSTEM) for c in among]
    return system_names(among)[own.index(True)]


def operating_system(name: str) -> str:
    """A system as it is spelled in running text."""
    return {"linux": "Linux", "ebbrt": "EbbRT"}.get(name, name)


def setting_name(setting: Mapping[str, float | str]) -> str:
    """A setting for people: `300 us, 1.7 GHz, 55 W cap`; `default` when every knob is left alone."""
    if not setting:
        return "default"
    known = [form.format(float(setting[knob]) * factor) for knob, form, factor in _KNOBS if knob in setting]
    rest = [
        f"{knob.partition('.')[2]} {value if isinstance(value, str) else format_quantity(value, unit_of(knob) or '')}"
        for knob, value in setting.items()
        if knob not in {name for name, _, _ in _KNOBS}
    ]
    return ", ".join([*known, *rest])


def percent(share: float) -> str:
    """A share with its sign as typographers write it: `−3.1 %`."""
    return f"{100 * share:.1f} %".replace("-", "\N{MINUS SIGN}")
