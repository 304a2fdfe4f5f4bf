"""One run as a row of a study: what the authors' clean_*.py make of it, in the units and under the names of a study.

Counters are summed over the cores that served, between the first and the last sample of each core's log in the window
of the run; interrupts and their traffic over all records in it. Every core's log has the energy of its package: that of
cores 0 and 1 is counted, because even cores are package 0 and odd ones package 1. NetPIPE and Node.js are served by one
core, and their energy is that of this core's package alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from bayop.errors import InputError, unreadable
from bayop.interrupts.log import Log
from bayop.interrupts.query import summarise
from bayop.interrupts.run_output import (
    Requests,
    read_connections,
    read_ebbrt_clock,
    read_ebbrt_netpipe,
    read_mutilate,
    read_netpipe_client,
    read_netpipe_server,
    read_nodejs_clock,
    read_wrk,
)
from bayop.interrupts.runs import Label, Run
from bayop.interrupts.summary import TRAFFIC, Summary
from bayop.interrupts.window import TickWindow
from bayop.study.trial import Row

_PACKAGE_CORES: Final = (0, 1)
_ENTRIES: Final = {"linux": ("c1", "c1e", "c3", "c6", "c7"), "ebbrt": ("c7",)}
"""The idle states whose entries a log counts; EbbRT enters no other."""
_MEANINGS: Final = {"linux": "entries", "ebbrt": "entries_per_record"}


def trial_of(run: Run, folder: Path, *, open_log: Callable[[Path], Log], on_log: Callable[[], None]) -> Row:
    """The row of one run, but for the study's name and the trial's number.

    Args:
        run: The names of its files.
        folder: Where they are.
        open_log: Looks into a log, and knows the rates of its machine.
        on_log: Called after each log.

    Raises:
        InputError: a file is not what its name says, they disagree, or a log shows nothing of the run.
    """
    logs = {core: _opened(open_log, folder / name, run) for core, name in run.logs.items()}
    tick_hz = logs[min(logs)].layout.tick_hz
    if run.app == "netpipe":
        failed = False
        quantities, window = _netpipe(run, folder, logs)
    else:
        requests, window = _requests(run, folder, tick_hz)
        quantities, failed = requests.quantities, requests.failed
    summaries = {}
    for core, log in logs.items():
        summary = summaries[core] = summarise(log, window=window)
        if not summary.sampled_ticks:
            rule = "a log must have samples of the counters over some time in the window of its run"
            raise InputError(rule, value=summary.samples, place=str(log.path))
        on_log()
    label = run.label
    loads = {"message_bytes": label.message_bytes, "qps_offered": label.qps}
    return {
        "repeat": label.repeat,
        "target": "published",
        "machine": "unknown",
        "os": run.os,
        "app": run.app,
        **{name: load for name, load in loads.items() if load is not None},
        "vantage": "client",
        "source": run.client,
        "asked.nic.rx_usecs": label.rx_usecs,
        "asked.cpu.freq_mhz": label.freq_mhz,
        "asked.power.cap_w": label.cap_w,
        "duration_s": window.ticks / tick_hz,
        **quantities,
        **_energy([summary for core, summary in summaries.items() if core in _PACKAGE_CORES or len(summaries) == 1]),
        **_counters(list(summaries.values()), _ENTRIES[run.os]),
        **({"suspect": "load_errors"} if failed else {}),
    }


def _opened(open_log: Callable[[Path], Log], path: Path, run: Run) -> Log:
    log = open_log(path)
    if log.kind not in ("intlog", "memory") or log.layout.idle_meaning != _MEANINGS[run.os]:
        raise InputError(
            f"the log of a run on {run.os} must be intlog's text of it", value=log.layout.name, place=str(path)
        )
    tells_run = log.memory is not None and bool(log.memory.head)
    if tells_run != _is_in_log(run):
        rule = "the log must be NetPIPE's memory" if _is_in_log(run) else "the log must not be NetPIPE's memory"
        raise InputError(rule, value=path.name, place=str(path), hint="ebbrt.bin.* is")
    return log


def _is_in_log(run: Run) -> bool:
    """Whether the log tells what the client saw."""
    return run.client in run.logs.values()


def _requests(run: Run, folder: Path, tick_hz: int) -> tuple[Requests, TickWindow]:
    """What mutilate or wrk saw, and when it was."""
    client, clock = folder / run.client, folder / str(run.clock)
    read = read_wrk if run.app == "nodejs" else read_mutilate
    output = read(_text(client), str(client))
    told, load_ticks = _text(clock), round(output.load_s * tick_hz)
    if run.app == "nodejs":
        return output, read_nodejs_clock(told, str(clock), load_ticks, numbered=run.os == "linux")
    if run.os == "linux":
        return output, read_connections(told, str(clock))
    return output, read_ebbrt_clock(told, str(clock), load_ticks, with_end=run.app != "silo")


def _netpipe(run: Run, folder: Path, logs: Mapping[int, Log]) -> tuple[dict[str, float], TickWindow]:
    """What NetPIPE saw, and when it was."""
    client = folder / run.client
    if run.clock is None:
        memory = logs[min(logs)].memory if _is_in_log(run) else None
        text = _text(client) if memory is None else memory.run()
        fields, output, window = read_ebbrt_netpipe(text, str(client))
        _check_agree(Label.of(fields, str(client)), run.label, client)
    else:
        output = read_netpipe_client(_text(client), str(client))
        window = read_netpipe_server(_text(folder / run.clock), str(folder / run.clock))
        _check_agree(output.message_bytes, run.label.message_bytes, client)
    quantities = {"roundtrip_us": output.roundtrip_us, "goodput_mibit_s": output.goodput_mibit_s}
    return quantities | {"roundtrips": float(run.label.roundtrips or 0)}, window


def _check_agree(content: object, name: object, path: Path) -> None:
    if content != name:
        raise InputError(
            "a file must be of the run that its name says",
            wrong=f"the file is of {content}, and its name says {name}",
            value=f"{content}",
            place=str(path),
            hint=f"{name}",
        )


def _energy(packages: Sequence[Summary]) -> dict[str, float]:
    """The energy of the packages, each from the log of one of its cores, and the mean time that it covers."""
    layout = packages[0].layout
    energy_j = sum(package.totals["energy_units"] for package in packages) * layout.energy_unit_j
    window_s = sum(package.sampled_ticks for package in packages) / len(packages) / layout.tick_hz
    return {"energy_j": energy_j, "energy_window_s": window_s, "power_w": energy_j / window_s}


def _counters(cores: Sequence[Summary], states: Sequence[str]) -> dict[str, float]:
    """What the cores counted together."""
    layout = cores[0].layout

    def total(name: str) -> int:
        return sum(core.totals[name] for core in cores)

    ref_cycles, sampled_s = total("ref_cycles"), sum(core.sampled_ticks for core in cores) / layout.tick_hz
    counters = {name: float(total(name)) for name in ("instructions", "cycles", "ref_cycles", "llc_misses")}
    counters |= {name: float(sum(core.traffic[name].sum for core in cores)) for name in TRAFFIC}
    counters |= {f"{state}_entries": float(total(state)) for state in states}
    return counters | {
        "interrupts": float(sum(core.records for core in cores)),
        "interrupts_per_s": sum(core.spacing.count * layout.tick_hz / core.spacing.sum for core in cores),
        # Counters and clock do not agree to the last per cent.
        "utilization": min(ref_cycles / (layout.tsc_hz * sampled_s), 1.0),
        **({"mean_freq_mhz": total("cycles") * layout.tsc_hz / 1e6 / ref_cycles} if ref_cycles else {}),
    }


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("ascii", "backslashreplace")
    except OSError as error:
        raise unreadable(path, error) from error
