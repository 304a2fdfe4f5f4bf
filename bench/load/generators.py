"""The load generators side by side: how each is told the same work, and where each prints the same numbers.

The work: GETs for 10,000 keys of 30 bytes with values of 200 bytes, all of them there.
"""

from __future__ import annotations

import json
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.load.processes import RunError, run

KEY_BYTES: Final = 30
VALUE_BYTES: Final = 200
RECORDS: Final = 10_000
_BINARY_HEADER_BYTES: Final = 24
_PATIENCE_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Setup:
    """How memcached is run, and how it is spoken to.

    Attributes:
        binary: In its binary protocol, not in its text protocol.
        requests_per_event: Most requests of a connection before it is another's turn, memcached's `-R`.
    """

    binary: bool
    requests_per_event: int

    def __str__(self) -> str:
        return f"{'binary' if self.binary else 'text'}, -R {self.requests_per_event}"

    @property
    def request_bytes(self) -> int:
        """Length of a GET."""
        return _BINARY_HEADER_BYTES + KEY_BYTES if self.binary else len("get ") + KEY_BYTES + len("\r\n")

    @property
    def reply_bytes(self) -> int:
        """Length of the reply that has the value."""
        if self.binary:
            return _BINARY_HEADER_BYTES + len("flag") + VALUE_BYTES
        return len("VALUE ") + KEY_BYTES + len(f" 0 {VALUE_BYTES}\r\n") + VALUE_BYTES + len("\r\nEND\r\n")


@dataclass(frozen=True, slots=True)
class Shape:
    """How many requests a generator may have under way.

    Attributes:
        connections: To the server.
        depth: Requests under way on each.
    """

    connections: int
    depth: int

    def __str__(self) -> str:
        return f"{self.connections}x{self.depth}"


@dataclass(frozen=True, slots=True)
class Report:
    """What a generator says of a run.

    Attributes:
        qps: Answers/s.
        p99_us: 99th percentile of the latency.
    """

    qps: float
    p99_us: float


class Generator(ABC):
    """One load generator.

    Attributes:
        name: As people call it.
        setup: How it speaks to the server.
        cpu: The core that it runs on.
    """

    name: str

    def __init__(self, setup: Setup, *, cpu: int, scratch: Path) -> None:
        self.setup = setup
        self.cpu = cpu
        self.scratch = scratch

    @abstractmethod
    def store(self, port: int) -> None:
        """Stores the records under the keys that it asks for."""

    @abstractmethod
    def load(self, port: int, shape: Shape, *, duration_s: float, qps: float | None) -> Report:
        """Loads the server: at its peak, or with `qps`, in Poisson arrivals if it can.

        Args:
            port: Of the server.
            shape: What may be under way.
            duration_s: How long.
            qps: The load; none is the peak.
        """


class Bayop(Generator):
    """`bayop load`. In its open loop, the depth has no limit."""

    name = "bayop"

    def _words(self, port: int) -> list[str]:
        words = [sys.executable, "-m", "bayop", "load", "-s", f"127.0.0.1:{port}", "--json", "-w", "0s"]
        return [*words, "--binary"] if self.setup.binary else words

    @property
    def samples(self) -> Path:
        """The times of the last run's requests."""
        return self.scratch / "samples.csv"

    def store(self, port: int) -> None:
        """As every generator does."""
        run([*self._words(port), "--closed-loop", "--loadonly"], cpu=self.cpu, timeout_s=_PATIENCE_S)

    def load(
        self,
        port: int,
        shape: Shape,
        *,
        duration_s: float,
        qps: float | None,
        save_samples: bool = False,
    ) -> Report:
        """As every generator does."""
        how = ["--closed-loop", "-d", str(shape.depth)] if qps is None else ["-q", f"{qps:.0f}"]
        words = [*self._words(port), "--noload", "-c", str(shape.connections), "-t", f"{duration_s:g}s", *how]
        if save_samples:
            self.samples.unlink(missing_ok=True)
            words += ["--save", str(self.samples)]
        # 1: it says itself that it was late.
        process = run(words, cpu=self.cpu, timeout_s=duration_s + _PATIENCE_S, good=(0, 1))
        if not process.stdout:
            raise RunError(process.stderr)
        event = json.loads(process.stdout.splitlines()[-1])
        at = {row["quantile"]: row["value_us"] for row in event["latency"]}
        return Report(event["achieved_qps"], at[0.99])


class Mutilate(Generator):
    """mutilate. At a fixed load its depth limits what is under way; what is due beyond that waits uncounted.

    Its histogram's bins are 10 % wide.
    """

    name = "mutilate"

    def __init__(self, program: Path, setup: Setup, *, cpu: int, scratch: Path) -> None:
        super().__init__(setup, cpu=cpu, scratch=scratch)
        self._program = str(program)

    def _words(self, port: int) -> list[str]:
        sizes = ["-K", str(KEY_BYTES), "-V", str(VALUE_BYTES), "-r", str(RECORDS)]
        words = [self._program, "-s", f"127.0.0.1:{port}", *sizes]
        return [*words, "--binary"] if self.setup.binary else words

    def store(self, port: int) -> None:
        """As every generator does."""
        run([*self._words(port), "--loadonly"], cpu=self.cpu, timeout_s=_PATIENCE_S)

    def load(self, port: int, shape: Shape, *, duration_s: float, qps: float | None) -> Report:
        """As every generator does."""
        limits = ["-c", str(shape.connections), "-d", str(shape.depth), "-q", f"{qps or 0:.0f}"]
        # Its default, `exponential` without a parameter, ends it: strtok_r(NULL) crashes in today's glibc.
        words = [*self._words(port), "--noload", "-t", f"{duration_s:g}", "-i", "exponential:1", *limits]
        process = run(words, cpu=self.cpu, timeout_s=duration_s + _PATIENCE_S)
        line = {words[0]: words for words in (line.split() for line in process.stdout.splitlines()) if words}
        if "read" not in line or "Total" not in line:
            raise RunError(f"mutilate printed no result: {process.stdout}{process.stderr}")
        return Report(qps=float(line["Total"][3]), p99_us=float(line["read"][-1]))


class Memtier(Generator):
    """memtier_benchmark. Its load is limited by a timer on every connection, at even gaps.

    It takes a run for a second longer or shorter than it was where it rounds its mean start or end down (run_stats.cpp,
    `timeval_factorial_average`), so its answers/s may be wrong.
    """

    name = "memtier"

    def __init__(self, program: Path, setup: Setup, *, cpu: int, scratch: Path) -> None:
        super().__init__(setup, cpu=cpu, scratch=scratch)
        self._program = str(program)

    def _run(self, port: int, *more: str, timeout_s: float = _PATIENCE_S) -> Report:
        result = self.scratch / "memtier.json"
        # A prefix of 22 bytes and a number of 8 make a key of 30.
        keys = [
            "--key-prefix=memtier-benchmark-key-",
            "--key-minimum=10000001",
            f"--key-maximum={10_000_000 + RECORDS}",
        ]
        protocol = "memcache_binary" if self.setup.binary else "memcache_text"
        common = ["-s", "127.0.0.1", "-p", str(port), "-P", protocol, "-t", "1", "-d", str(VALUE_BYTES), *keys]
        words = [self._program, *common, "--hide-histogram", f"--json-out-file={result}", *more]
        run(words, cpu=self.cpu, timeout_s=timeout_s)
        totals = json.loads(result.read_text(encoding="utf-8"))["ALL STATS"]["Totals"]
        if totals["Misses/sec"]:
            raise RunError(f"memtier missed {totals['Misses/sec']} keys/s")
        return Report(totals["Ops/sec"], 1e3 * totals["Percentile Latencies"]["p99.00"])

    def store(self, port: int) -> None:
        """As every generator does."""
        self._run(port, "--ratio=1:0", "--key-pattern=P:P", "-c", "1", "-n", "allkeys")

    def load(self, port: int, shape: Shape, *, duration_s: float, qps: float | None) -> Report:
        """As every generator does."""
        words = ["--ratio=0:1", "-c", str(shape.connections), f"--pipeline={shape.depth}"]
        words += [f"--test-time={duration_s:.0f}", "--distinct-client-seed"]
        if qps is not None:
            words.append(f"--rate-limiting={max(1, round(qps / shape.connections))}")
        return self._run(port, *words, timeout_s=duration_s + _PATIENCE_S)
