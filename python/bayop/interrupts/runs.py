"""Which files of a folder make up a run, from nothing but their names.

The authors' scripts (https://github.com/SESA/intlog at dce07e1, scripts/*) collect each run of a benchmark as some
files, and put its labels into their names: which repeat it is, the setting that was asked for, the load.

    linux.mcd.{dmesg,out,rdtsc}.REPEAT_[CORE_]ITR_DVFS_RAPL_QPS         memcached on Linux; likewise linux.mcdsilo.*
    linux.np.{log,client,server}.REPEAT_CORE_BYTES_LOOP_ITR_DVFS_RAPL   NetPIPE on Linux
    linux.node.server.{log,out,rdtsc}.REPEAT_CORE_ITR_DVFS_RAPL         Node.js on Linux
    ebbrt_{dmesg,out,rdtsc}.REPEAT_[CORE_]ITR_DVFS_RAPL_QPS_SLEEP       memcached and silo on EbbRT
    ebbrt_{dmesg,out,rdtsc}.REPEAT_[CORE_]ITR_DVFS_RAPL_SLEEP           Node.js on EbbRT; rdtsc names no core
    ebbrt.{dmesg,np.out}.REPEAT_BYTES_LOOP_ITR_DVFS_RAPL                NetPIPE on EbbRT
    ebbrt.bin.REPEAT_BYTES_LOOP_ITR_DVFS_RAPL                           ... and the memory that both are printed from

ITR is in us, RAPL in W; DVFS is what was written to the MSR IA32_PERF_CTL (0x199), 0xffff where the system decides.
The log of ebbrt_dmesg.* is EbbRT's memory, and with .csv behind its name the text that was printed from it. The scripts
name NetPIPE's memory ebbrt.bin, and have no run of it; its label stands in it, too.
Other files of a folder are none of a run's, unless their name begins like one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from bayop.errors import InputError

Role = Literal["log", "client", "clock"]
"""What a file of a run holds: records of a core, what the load generator printed, the time stamps of the run's ends."""
EbbrtApp = Literal["memcached", "silo"]
"""What serves an open loop on EbbRT; no file name says."""

_FIELDS: Final = {
    **dict.fromkeys(("repeat", "core", "itr", "rapl", "qps", "bytes", "loop"), r"[0-9]{1,9}"),
    "dvfs": r"0[xX][0-9a-fA-F]{1,4}",
    "sleep": r"c[0-9]{1,2}e?",
}
_OPEN_LOOP: Final = ("repeat", "itr", "dvfs", "rapl", "qps")
_CLOSED_LOOP: Final = ("repeat", "bytes", "loop", "itr", "dvfs", "rapl")
_NODEJS: Final = ("repeat", "itr", "dvfs", "rapl")
_NODEJS_CORE: Final = 1

_EBBRTS_SLEEP: Final = "c7"
_GOVERNED: Final = 0xFFFF
_MHZ_PER_STEP: Final = 100
_PROCESSORS_LIMIT_W: Final = 135
"""Thermal design power of a package of the papers' server; a cap there never binds."""

_CORES: Final = 16
SERVER_CORES: Final[Mapping[str, int]] = {"memcached": _CORES, "silo": _CORES - 1}
"""Cores of the papers' server that serve, from core 0 on; silo leaves the last one alone, whose log is not counted."""


@dataclass(frozen=True, slots=True)
class _Name:
    """What the files of one role are called; the suffix is that of memory which was printed as text."""

    stem: str
    fields: tuple[str, ...]
    suffix: str = ""

    def read(self, name: str) -> Mapping[str, str] | None:
        """The fields of a name that begins like these; None for one that does not have them."""
        pattern = "_".join(f"(?P<{each}>{_FIELDS[each]})" for each in self.fields)
        match = re.fullmatch(f"{re.escape(self.stem)}{pattern}({re.escape(self.suffix)})?", name)
        return match and match.groupdict()

    def write(self, fields: Mapping[str, str]) -> str:
        """The name of a file with these fields; those that are not known yet in capitals."""
        return self.stem + "_".join(fields.get(each, each.upper()) for each in self.fields) + self.suffix


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One benchmark on one operating system.

    Attributes:
        os: The operating system of the server.
        app: The service; None where the file names do not say.
        names: What its files are called, by role.
        core: What serves where the file names do not say.
    """

    os: Literal["linux", "ebbrt"]
    app: str | None
    names: Mapping[Role, _Name]
    core: int = 0


def _log_fields(fields: tuple[str, ...]) -> tuple[str, ...]:
    """The fields of a log's name: the core stands behind the repeat."""
    return (fields[0], "core", *fields[1:])


def _open_loop(stem: str, fields: tuple[str, ...], log_suffix: str = "") -> dict[Role, _Name]:
    return {
        "log": _Name(f"{stem}dmesg.", _log_fields(fields), log_suffix),
        "client": _Name(f"{stem}out.", fields),
        "clock": _Name(f"{stem}rdtsc.", fields),
    }


BENCHMARKS: Final = (
    Benchmark("linux", "memcached", _open_loop("linux.mcd.", _OPEN_LOOP)),
    Benchmark("linux", "silo", _open_loop("linux.mcdsilo.", _OPEN_LOOP)),
    Benchmark(
        "linux",
        "netpipe",
        {
            "log": _Name("linux.np.log.", _log_fields(_CLOSED_LOOP)),
            "client": _Name("linux.np.client.", _log_fields(_CLOSED_LOOP)),
            "clock": _Name("linux.np.server.", _log_fields(_CLOSED_LOOP)),
        },
    ),
    Benchmark(
        "linux",
        "nodejs",
        {
            "log": _Name("linux.node.server.log.", _log_fields(_NODEJS)),
            "client": _Name("linux.node.server.out.", _log_fields(_NODEJS)),
            "clock": _Name("linux.node.server.rdtsc.", _log_fields(_NODEJS)),
        },
    ),
    Benchmark("ebbrt", None, _open_loop("ebbrt_", (*_OPEN_LOOP, "sleep"), ".csv")),
    Benchmark(
        "ebbrt",
        "nodejs",
        {
            "log": _Name("ebbrt_dmesg.", (*_log_fields(_NODEJS), "sleep"), ".csv"),
            "client": _Name("ebbrt_out.", (*_log_fields(_NODEJS), "sleep")),
            "clock": _Name("ebbrt_rdtsc.", (*_NODEJS, "sleep")),
        },
        _NODEJS_CORE,
    ),
    Benchmark(
        "ebbrt",
        "netpipe",
        {"log": _Name("ebbrt.dmesg.", _CLOSED_LOOP), "client": _Name("ebbrt.np.out.", _CLOSED_LOOP)},
    ),
    Benchmark("ebbrt", "netpipe", {"log": _Name("ebbrt.bin.", _CLOSED_LOOP)}),
)
"""The benchmarks whose runs are understood."""


@dataclass(frozen=True, slots=True, order=True)
class Label:
    """What the names of a run's files say of it.

    Attributes:
        repeat: Which repeat of its setting it is.
        itr_us: The interrupt delay that was asked for; 1 is the driver's own policy on Linux.
        dvfs: What was written to IA32_PERF_CTL: the frequency in steps of 100 MHz in the upper byte.
        rapl_w: The power cap of each package.
        qps: Offered load of an open loop, in requests/s ...
        message_bytes: ... or message size of a closed one, ...
        roundtrips: ... and how many round trips it makes.
    """

    repeat: int
    itr_us: int
    dvfs: int
    rapl_w: int
    qps: int | None = None
    message_bytes: int | None = None
    roundtrips: int | None = None

    @classmethod
    def of(cls, fields: Mapping[str, str], place: str | None = None) -> Label:
        """The label that the fields of a file name spell, or those that stand in a file.

        Raises:
            InputError: one of them is none.
        """
        for name, text in fields.items():
            if name in _FIELDS and not re.fullmatch(_FIELDS[name], text):
                rule = f"the {name} of a run must be a number" + (" such as 0x1d00" if name == "dvfs" else "")
                raise InputError(rule, value=text, place=place)

        def number(name: str) -> int | None:
            return int(fields[name]) if name in fields else None

        repeat, itr_us, rapl_w = (int(fields[name]) for name in ("repeat", "itr", "rapl"))
        dvfs = int(fields["dvfs"], 16)
        return cls(repeat, itr_us, dvfs, rapl_w, number("qps"), number("bytes"), number("loop"))

    @property
    def rx_usecs(self) -> int | None:
        """What was asked of `nic.rx_usecs`; None for the default policy."""
        return None if self.dvfs == _GOVERNED else self.itr_us

    @property
    def freq_mhz(self) -> int | None:
        """What was asked of `cpu.freq_mhz`; None for the default policy."""
        return None if self.dvfs == _GOVERNED else (self.dvfs >> 8) * _MHZ_PER_STEP

    @property
    def cap_w(self) -> int | None:
        """What was asked of `power.cap_w`; None at the processor's own limit."""
        return None if self.rapl_w == _PROCESSORS_LIMIT_W else self.rapl_w


@dataclass(frozen=True, slots=True)
class Run:
    """The files of one run.

    Attributes:
        os: The operating system of the server.
        app: The service.
        label: What their names say.
        logs: The names of the logs by core; by 0 where the names do not say which.
        client: The name of the file with what the load generator printed; that of the log where it has this as well.
        clock: The name of the file with the time stamps; None where they stand in `client`.
    """

    os: Literal["linux", "ebbrt"]
    app: str
    label: Label
    logs: Mapping[int, str]
    client: str
    clock: str | None


@dataclass(slots=True)
class _RunFiles:
    """The files of one run that were seen so far, and its fields as one of them spells them."""

    fields: Mapping[str, str]
    logs: dict[int, str] = field(default_factory=dict)
    others: dict[Role, str] = field(default_factory=dict)

    def add(self, role: Role, core: int, name: str) -> None:
        """Adds a file.

        Raises:
            InputError: the run has it already, spelled in another way.
        """
        other = self.logs.setdefault(core, name) if role == "log" else self.others.setdefault(role, name)
        if other != name:
            raise InputError("a run must have each of its files once", value=name, hint=f"{other} says the same")


def find_runs(names: Iterable[str], *, ebbrt_app: EbbrtApp | None = None) -> list[Run]:
    """The runs that the files of a folder make up, by benchmark and in the order of their labels.

    Args:
        names: Of all files in the folder, without it.
        ebbrt_app: What the runs of an open loop on EbbRT served.

    Raises:
        InputError: there is no run, one lacks a file or has one twice, or a name only begins like that of a run's file.
    """
    present = set(names)
    runs = []
    for benchmark in BENCHMARKS:
        groups = _group(benchmark, present)
        runs += [_whole(benchmark, label, core, groups[label, core], ebbrt_app) for label, core in sorted(groups)]
    if not runs:
        logs = ", ".join(benchmark.names["log"].write({}) for benchmark in BENCHMARKS)
        raise InputError(
            "a folder of raw logs must hold a run of a benchmark",
            wrong="the folder holds no run",
            hint=f"what is looked for: {logs}",
        )
    return runs


def _group(benchmark: Benchmark, present: set[str]) -> dict[tuple[Label, int], _RunFiles]:
    """The files of a benchmark by run: by its label, and where every file of a run names it, by its core."""
    names = benchmark.names
    single = "core" in names.get("client", names["log"]).fields
    groups: dict[tuple[Label, int], _RunFiles] = {}
    for role, pattern in names.items():
        for name in sorted(name for name in present if name.startswith(pattern.stem)):
            # EbbRT's memory as it was, of which there is a text as well.
            if pattern.suffix and name + pattern.suffix in present:
                continue
            fields = pattern.read(name)
            if fields is None:
                alike = [other for other in _patterns() if name.startswith(other.stem)]
                if any(other.read(name) for other in alike):
                    continue
                known = " or ".join(other.write({}) for other in alike)
                raise InputError(f"the name of a run's file must be {known}", value=name)
            if fields.get("sleep", _EBBRTS_SLEEP) != _EBBRTS_SLEEP:
                hint = "a study has no column for another idle state; leave these runs out"
                raise InputError(f"a run of EbbRT must halt to {_EBBRTS_SLEEP}", value=name, hint=hint)
            core = int(fields.get("core", benchmark.core))
            key = Label.of(fields), core if single else 0
            groups.setdefault(key, _RunFiles(fields)).add(role, core, name)
    return groups


def _patterns() -> Iterator[_Name]:
    """What the files of any run are called."""
    for benchmark in BENCHMARKS:
        yield from benchmark.names.values()


def _whole(benchmark: Benchmark, label: Label, core: int, files: _RunFiles, ebbrt_app: EbbrtApp | None) -> Run:
    """The run, once it is known that it has all of its files.

    Raises:
        InputError: it has not, or nobody says what it served.
    """
    app = benchmark.app or ebbrt_app
    names, logs = benchmark.names, files.logs
    if app is None:
        file = next(iter([*files.others.values(), *logs.values()]))
        wrong = f"it is not known what the run of {file} served"
        raise InputError(wrong=wrong, value=file, parameter="ebbrt_app", hint="say memcached or silo")
    cores = range(SERVER_CORES[app]) if app in SERVER_CORES else (core,)
    for each in cores:
        if each not in logs:
            raise _missing(names["log"].write({**files.fields, "core": str(each)}), files)
    surplus = [name for number, name in logs.items() if number not in cores and number >= _CORES]
    if surplus:
        raise InputError(f"the server of a run must have {_CORES} cores, like the papers'", value=surplus[0])
    for role, pattern in names.items():
        if role != "log" and role not in files.others:
            raise _missing(pattern.write(files.fields), files)
    client = files.others.get("client", logs[cores[0]])
    return Run(benchmark.os, app, label, {each: logs[each] for each in cores}, client, files.others.get("clock"))


def _missing(name: str, files: _RunFiles) -> InputError:
    there = next(iter([*files.others.values(), *files.logs.values()]))
    return InputError(
        "a run must have all of its files",
        wrong=f"there is no {name}",
        value=f"no {name}",
        hint=f"{there} is of this run",
    )
