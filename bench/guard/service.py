"""How long after the news is the fall-back of a hold in effect, on a real memcached with a real load and a real source?

Runs a release build of the agent beside memcached in a network namespace of its own (`bayop live`'s machine), under a
load that BayOp keeps up; what clients see comes from bayop-probe, whose lines are sent on as datagrams. A deferral of
interrupts is held under all conditions at once, again and again; then one thing happens:

  slower   memcached gets a third of its time: it is stopped for 2 ms of every 3
  doubled  the load doubles
  dead     the probe is killed

What is timed is the device's own attribute in sysfs, by a look each ms, from the news to the write of the fall-back.
The news is the first datagram above the limit; the packet at which the rate of the last second leaves its band; or that
the source's silence is over its limit: by the condition that the agent says has broken.

Last, nothing happens for a while. Each hold that gives way then, or before something has happened, is a false alarm,
or a true breach where the probe really has said a p99 above the limit meanwhile: other work on the machine does that.
What is known is written after each incident, each fall and each minute, so that a run that is broken off keeps it.

Examples, as root:
  cargo build --release --package bayop-agent && make probe
  python -m bench.guard.service target/release/bayop-agent target/release/bayop-probe --out bench/guard/results/service
  python -m bench.guard.service target/release/bayop-agent target/release/bayop-probe --breaches 0 --quiet-s 3600
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, Final, NamedTuple

from bench.background import Background
from bench.guard.times import summarized, write_times
from bench.results import tell_summary, write_summary
from bench.rows import write_rows

from bayop.errors import BayopError
from bayop.experiments.rig.namespaces import Rig
from bayop.live.agent.messages import Conditions, FellBack, LatencyLimit, LoadBand
from bayop.load.steady import SteadyLoad
from bayop.space import DEFER_HARD_IRQS, GRO_FLUSH_TIMEOUT_US

QPS: Final = 8000.0
HELD, FALL_BACK = {GRO_FLUSH_TIMEOUT_US: 100.0, DEFER_HARD_IRQS: 1.0}, {GRO_FLUSH_TIMEOUT_US: 0.0, DEFER_HARD_IRQS: 0.0}
LIMIT: Final = 5.0
"""Of the p99 of a quiet time."""
SILENCE_S: Final = 1.0
SETTLE_S: Final = 0.5
BAND: Final = 0.5
BAND_WINDOW_S: Final = 1.0
PUSH_EVERY_S: Final = 0.25
PATIENCE_S: Final = 10.0
START_S: Final = 60.0
"""How long the kernel may verify the probe's programs, on a busy machine."""
STOPPED_S, RUNNING_S = 0.002, 0.001
LEASE_S: Final = 3600.0
LONGEST_S: Final = 86400.0
"""No hold of a quiet time is that old."""
TELL_EVERY_S: Final = 60.0
_MODULE: Final = "bench.guard.service"

BEFORE, QUIET = "before_incidents", "quiet"


@dataclass(frozen=True, slots=True)
class Fall:
    """A hold that gave way while nobody had touched the service or its load.

    Attributes:
        when: `before_incidents`, or in the `quiet` time.
        held_s: How long it had held, in s.
        condition: Which one the agent says has broken.
        seen: What the agent says it saw.
        pushed_us: The highest p99 that was pushed meanwhile; None where none was.
        is_breach: Whether it fell by that, above the limit: then the fall is no false alarm.
    """

    when: str
    held_s: float
    condition: str
    seen: str
    pushed_us: float | None
    is_breach: bool


def highest(pushes: Iterable[tuple[float, float]], begin_s: float, end_s: float) -> float | None:
    """The highest p99 of what was pushed in some time; None where nothing was."""
    return max((us for at_s, us in pushes if begin_s < at_s <= end_s), default=None)


def is_true_breach(condition: str, pushed_us: float | None, limit_us: float) -> bool:
    """Whether a hold gave way as it has to. The load stays as it is and the source lives: only a latency can have."""
    return condition == "latency" and pushed_us is not None and pushed_us > limit_us


@dataclass(slots=True)
class Record:
    """What is known so far.

    Attributes:
        out: The folder of results; None where nothing is written.
        times_s: How long each fall-back took, by what had happened.
        falls: What gave way with nothing the matter.
        quiet_s: How long nothing has happened, in s.
    """

    out: Path | None
    times_s: dict[str, list[float]] = field(default_factory=dict)
    falls: list[Fall] = field(default_factory=list)
    quiet_s: float = 0.0

    @property
    def summary(self) -> dict[str, Any]:
        """Medians and worst times, and what the falls were."""
        times = {name: summarized(times_s, 4) for name, times_s in self.times_s.items()}
        quiet = {"duration_s": round(self.quiet_s, 1), **self._counted(QUIET)}
        return {**times, BEFORE: self._counted(BEFORE), QUIET: quiet}

    def fell_back(self, incident: str, time_s: float) -> None:
        """Takes in a fall-back after an incident."""
        times_s = self.times_s.setdefault(incident, [])
        times_s.append(time_s)
        self._tell(f"{incident} {len(times_s)}: {1e3 * time_s:.1f} ms")

    def gave_way(self, fall: Fall) -> None:
        """Takes in a hold that gave way with nothing the matter."""
        self.falls.append(fall)
        what = "a true breach" if fall.is_breach else "a false alarm"
        self._tell(f"{fall.when}: {what} after {fall.held_s:.1f} s, {fall.condition}: {fall.seen}")

    def quiet_for(self, duration_s: float) -> None:
        """Takes in how long it has been quiet until now."""
        self.quiet_s = duration_s
        self._tell(f"quiet for {duration_s:.0f} s: {json.dumps(self._counted(QUIET))}")

    def _counted(self, when: str) -> dict[str, int]:
        breaches = [fall.is_breach for fall in self.falls if fall.when == when]
        return {"true_breaches": sum(breaches), "false_alarms": len(breaches) - sum(breaches)}

    def _tell(self, line: str) -> None:
        sys.stderr.write(f"{line}\n")
        if self.out is not None:
            folder = write_summary(_MODULE, self.summary, self.out)
            write_times(folder / "fall_backs.csv", self.times_s, kind="incident")
            if self.falls:
                write_rows(folder / "falls.csv", self.falls)


class Look(NamedTuple):
    """What the server's device showed at a moment."""

    at_s: float
    timeout_ns: int
    packets: int


class Source(Background):
    """bayop-probe, whose every line is sent to the agent."""

    def __init__(self, rig: Rig, probe: Path) -> None:
        super().__init__()
        self.pushes: list[tuple[float, float]] = []
        """When each was sent, and the p99 in it, in us."""
        port = rig.load.plan.servers[0].rsplit(":", 1)[1]
        flags = f"--port {port} --wait {rig.device} --window-s {PUSH_EVERY_S} --netns /proc/{rig.service_pid}/ns/net"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.connect(str(rig.folder / "latency.sock"))
        self._process = subprocess.Popen([str(probe), *flags.split()], stdout=subprocess.PIPE)

    def __exit__(self, *error: object) -> None:
        self.kill()
        super().__exit__(*error)
        self._socket.close()

    def kill(self) -> None:
        """Ends it as a crash does."""
        self._process.kill()

    def check(self) -> None:
        """Raises where it has ended by itself.

        Raises:
            BayopError: it has.
        """
        if (code := self._process.poll()) is not None:
            raise BayopError(wrong=f"the probe ended with exit code {code}", hint="see what it says on stderr")

    def await_pushes(self, count: int) -> Sequence[float]:
        """The p99 of so many windows from now on, in us."""
        begun, ends = len(self.pushes), time.perf_counter() + START_S + count * PUSH_EVERY_S
        while len(self.pushes) < begun + count:
            if time.perf_counter() > ends:
                raise BayopError(wrong="the probe says nothing", hint="see what it says on stderr")
            time.sleep(0.01)
        return [p99_us for _, p99_us in self.pushes[begun:]]

    def _run(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            p99_us = json.loads(line).get("p99_us")
            if p99_us is not None:
                self._socket.send(line)
                self.pushes.append((time.perf_counter(), p99_us))
        self._process.wait()


class Scene:
    """A machine under load whose setting is held, and what can happen to it."""

    def __init__(self, rig: Rig, load: SteadyLoad, probe: Path, record: Record) -> None:
        self._rig, self._load, self._probe, self._record = rig, load, probe, record
        self._lease = rig.client.acquire("bench", LEASE_S)
        self._random, self._held_at_s = Random(14), 0.0
        # The agent has a sysfs of the server's namespace.
        device = Path(f"/proc/{rig.agent_pid}/root/sys/class/net/{rig.device}")
        self._timeout, self._packets = device / "gro_flush_timeout", device / "statistics/rx_packets"
        with Source(rig, probe) as source:
            self._limit_us = LIMIT * median(source.await_pushes(20))
        first = self._look()
        time.sleep(2.0)
        last = self._look()
        self._packets_per_s = (last.packets - first.packets) / (last.at_s - first.at_s)

    def slower(self) -> float:
        """How long after the news the fall-back is in effect when memcached gets a third of its time, in s."""
        return self._fall_back(lambda _: self._slowed())

    def doubled(self) -> float:
        """How long it takes when the load doubles, in s."""
        return self._fall_back(lambda _: self._changed(2 * QPS))

    def dead(self) -> float:
        """How long it takes when the source dies, in s."""
        return self._fall_back(_killed)

    def stay_quiet(self, duration_s: float) -> None:
        """Lets nothing happen for so long."""
        begun = told = time.monotonic()
        with Source(self._rig, self._probe) as source:
            source.await_pushes(2)
            self._hold()
            while (now := time.monotonic()) < begun + duration_s:
                time.sleep(min(PUSH_EVERY_S, begun + duration_s - now))
                self._load.check()
                source.check()
                if self._gave_way(source, QUIET):
                    self._hold()
                if now > told + TELL_EVERY_S:
                    told = now
                    self._record.quiet_for(now - begun)
                    self._rig.client.renew(self._lease, timeout_s=PATIENCE_S)
        self._record.quiet_for(time.monotonic() - begun)

    def _fall_back(self, incident: Callable[[Source], AbstractContextManager[None]]) -> float:
        with Source(self._rig, self._probe) as source:
            source.await_pushes(2)
            looks: list[Look] = []
            while not looks:
                self._hold()
                looks = list(self._looks(SETTLE_S + BAND_WINDOW_S + self._random.uniform(0.0, PUSH_EVERY_S)))
                if self._gave_way(source, BEFORE):
                    looks = []
            with incident(source):
                for look in self._looks(PATIENCE_S):
                    looks.append(look)
                    if look.timeout_ns == 0:
                        break
            fallen = self._fallen()
            if fallen is None or looks[-1].timeout_ns != 0:
                raise BayopError(wrong=f"nothing fell back within {PATIENCE_S:g} s")
            return looks[-1].at_s - self._news_s(fallen, looks, source.pushes)

    def _news_s(self, fallen: FellBack, looks: Sequence[Look], pushes: Sequence[tuple[float, float]]) -> float:
        """When what the agent says has broken could first be known."""
        if fallen.condition == "latency":
            return next(at_s for at_s, p99_us in pushes if at_s > looks[0].at_s + SETTLE_S and p99_us > self._limit_us)
        if fallen.condition == "silence":
            return pushes[-1][0] + SILENCE_S
        assert fallen.condition == "load", fallen
        before = 0
        for look in looks:
            while look.at_s - looks[before].at_s > BAND_WINDOW_S:
                before += 1
            rate = (look.packets - looks[before].packets) / BAND_WINDOW_S
            if rate > (1 + BAND) * self._packets_per_s:
                return look.at_s
        raise BayopError(wrong=f"the agent has seen a load that we have not: {fallen.seen}")

    def _hold(self) -> None:
        limit = LatencyLimit("p99_us", self._limit_us, SILENCE_S, SETTLE_S)
        low, high = (factor * self._packets_per_s for factor in (1 - BAND, 1 + BAND))
        conditions = Conditions(limit, LoadBand(self._rig.device, low, high, BAND_WINDOW_S), longest_s=LONGEST_S)
        self._rig.client.renew(self._lease, timeout_s=PATIENCE_S)
        self._held_at_s = time.perf_counter()
        self._rig.client.hold(HELD, fall_back=FALL_BACK, conditions=conditions, lease=self._lease)

    def _gave_way(self, source: Source, when: str) -> bool:
        """Whether it did, with nothing the matter; it is written down."""
        fallen = self._fallen()
        if fallen is not None:
            fell_at_s = time.perf_counter() - fallen.age_s
            pushed_us = highest(source.pushes, self._held_at_s + SETTLE_S, fell_at_s)
            is_breach = is_true_breach(fallen.condition, pushed_us, self._limit_us)
            held_s = fell_at_s - self._held_at_s
            self._record.gave_way(Fall(when, held_s, fallen.condition, fallen.seen, pushed_us, is_breach))
        return fallen is not None

    def _fallen(self) -> FellBack | None:
        held = self._rig.client.holding()
        return None if held is None else held.fell_back

    def _looks(self, duration_s: float) -> Iterator[Look]:
        ends = time.perf_counter() + duration_s
        while time.perf_counter() < ends:
            yield self._look()
            time.sleep(0.001)

    def _look(self) -> Look:
        return Look(time.perf_counter(), int(self._timeout.read_text()), int(self._packets.read_text()))

    @contextmanager
    def _slowed(self) -> Iterator[None]:
        over = threading.Event()

        def throttle() -> None:
            while not over.is_set():
                os.kill(self._rig.service_pid, signal.SIGSTOP)
                time.sleep(STOPPED_S)
                os.kill(self._rig.service_pid, signal.SIGCONT)
                time.sleep(RUNNING_S)

        thread = threading.Thread(target=throttle)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    @contextmanager
    def _changed(self, qps: float) -> Iterator[None]:
        self._load.change(qps)
        try:
            yield
        finally:
            self._load.change(QPS)
            time.sleep(BAND_WINDOW_S)


@contextmanager
def _killed(source: Source) -> Iterator[None]:
    source.kill()
    yield


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agent", type=Path, help="the release build")
    parser.add_argument("probe", type=Path, help="bayop-probe with eBPF")
    parser.add_argument("--breaches", type=int, default=100, help="how many of each kind")
    parser.add_argument("--quiet-s", type=float, default=300.0, help="how long nothing happens, in s")
    parser.add_argument("--out", type=Path, help="write summary.json, env.json and two tables into a folder")
    args = parser.parse_args()
    record = Record(args.out)
    with (
        Rig(args.agent.resolve(), qps=QPS, window_s=None) as rig,
        SteadyLoad(rig.load.plan, through=rig.load.through, store=rig.load.store) as load,
    ):
        scene = Scene(rig, load, args.probe.resolve(), record)
        for kind in (scene.slower, scene.doubled, scene.dead):
            for _ in range(args.breaches):
                record.fell_back(kind.__name__, kind())
        scene.stay_quiet(args.quiet_s)
    tell_summary(_MODULE, record.summary, None)


if __name__ == "__main__":
    main()
