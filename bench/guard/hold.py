"""How long after the news is the fall-back of a hold in effect, when nobody but the agent knows of it?

Runs a release build of the agent on a recorded machine and holds a cap under conditions, again and again; then one of
them breaks. What is timed is the cap itself, by a look each ms, from the news to the write of the fall-back.

  datagram  a latency above its limit is sent to the agent's datagram socket
  request   the same, by PUT /v1/latency
  silence   the source of latency has died; the news is that its silence is over the limit
  load      the packets per second double at once, from the middle of a band of 20 %; the rate is that of 1 s, and the
            news is the packet at which the rate leaves the band

Last, nothing breaks for a while, under all of these conditions at once: `false_alarms` says what was seen of each hold
that gave way.

Example:
  cargo build --release --package bayop-agent
  python -m bench.guard.hold target/release/bayop-agent --out bench/guard/results
"""

from __future__ import annotations

import argparse
import json
import socket
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final

from bench.guard.times import summarized, tell_times
from tests.support.agents import AgentProcess, Machine

from bayop.latency.base import Latency, Vantage
from bayop.live.agent.messages import Conditions, LatencyLimit, LoadBand
from bayop.space import CAP_W

HELD_W, FALL_BACK_W = 70.0, 110.0
LIMIT_US: Final = 500.0
SILENCE_S: Final = 0.5
PACKETS_PER_S: Final = 100_000.0
BAND: Final = 0.2
WINDOW_S: Final = 1.0
PUSH_EVERY_S: Final = 0.1
PATIENCE_S: Final = 10.0
LOOK_S: Final = 0.25
LOAD: Final = LoadBand("eth0", (1 - BAND) * PACKETS_PER_S, (1 + BAND) * PACKETS_PER_S, WINDOW_S)
QUIET, BREACH = (Latency({"p99_us": us}, Vantage.CLIENT) for us in (0.5 * LIMIT_US, 2.0 * LIMIT_US))


class Server:
    """A machine and its agent, with a hold that can be made and broken."""

    def __init__(self, machine: Machine, agent: AgentProcess, folder: Path) -> None:
        self._machine, self._client = machine, agent.client
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.connect(str(folder / "latency.sock"))
        self._lease = self._client.acquire("bench", 3600.0)
        self._random = Random(14)

    def hold(self, conditions: Conditions) -> None:
        """Holds a cap anew, at any time between two looks of the agent."""
        time.sleep(self._random.uniform(0.0, LOOK_S))
        self._client.hold({CAP_W: HELD_W}, fall_back={CAP_W: FALL_BACK_W}, conditions=conditions, lease=self._lease)

    def datagram(self) -> float:
        """How long the fall-back takes after a datagram, in s."""
        self.hold(limit(60.0))
        return self._until_fallen(lambda: self.send(BREACH))

    def request(self) -> float:
        """How long it takes after a request, in s."""
        self.hold(limit(60.0))
        return self._until_fallen(lambda: self._client.push(BREACH))

    def silence(self) -> float:
        """How long it takes after the time in which a source may be silent, in s."""
        self.hold(limit(SILENCE_S))
        time.sleep(PUSH_EVERY_S)
        return self._until_fallen(lambda: self.send(QUIET)) - SILENCE_S

    def load(self) -> float:
        """How long it takes after a load that doubles has left its band, in s."""
        self.hold(Conditions(load=LOAD))
        time.sleep(1.5 * WINDOW_S)

        def double() -> None:
            self._machine.packets_per_s = 2 * PACKETS_PER_S

        try:
            return self._until_fallen(double) - BAND * WINDOW_S
        finally:
            self._machine.packets_per_s = PACKETS_PER_S

    def false_alarms(self, duration_s: float) -> list[str]:
        """What was seen of the holds that give way in a quiet time."""
        everything = Conditions(limit(SILENCE_S).latency, LOAD, longest_s=2 * duration_s)
        ends, alarms = time.monotonic() + duration_s, list[str]()
        self.hold(everything)
        while time.monotonic() < ends:
            self.send(QUIET)
            time.sleep(PUSH_EVERY_S)
            held = self._client.holding()
            if held is not None and held.fell_back is not None:
                alarms.append(f"{held.fell_back.condition}: {held.fell_back.seen}")
                self.hold(everything)
        return alarms

    def send(self, latency: Latency) -> None:
        """Says what clients see, by a datagram."""
        self._socket.send(json.dumps({"vantage": str(latency.vantage), **latency.quantities}).encode())

    def _until_fallen(self, breach: Callable[[], None]) -> float:
        began = time.perf_counter()
        breach()
        while self._machine.cap_w != FALL_BACK_W:
            assert time.perf_counter() < began + PATIENCE_S, self._client.holding()
            time.sleep(0.001)
        return time.perf_counter() - began


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agent", type=Path, help="the release build")
    parser.add_argument("--breaches", type=int, default=100, help="how many of each kind")
    parser.add_argument("--quiet-s", type=float, default=60.0, help="how long nothing breaks, in s")
    parser.add_argument("--out", type=Path, help="write fall_backs.csv, summary.json and env.json into a folder")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (
            Machine(folder / "root", packets_per_s=PACKETS_PER_S) as machine,
            AgentProcess(args.agent.resolve(), folder, machine.root) as agent,
        ):
            server = Server(machine, agent, folder)
            kinds = (server.datagram, server.request, server.silence, server.load)
            times_s = {kind.__name__: [kind() for _ in range(args.breaches)] for kind in kinds}
            alarms = server.false_alarms(args.quiet_s)
    quiet = {"quiet_s": args.quiet_s, "false_alarms": alarms}
    summary = {name: summarized(times, 4) for name, times in times_s.items()} | quiet
    tell_times(args.out, "bench.guard.hold", summary, times_s, name="fall_backs", kind="news")


def limit(silence_s: float) -> Conditions:
    """A limit of the p99."""
    return Conditions(LatencyLimit("p99_us", LIMIT_US, silence_s))


if __name__ == "__main__":
    main()
