"""How long does a setting that breaks the SLO stay in effect, before the guard falls back?

Runs a release build of the agent on a recorded machine, and a search whose every trial is a breach: its cap makes the
latency 1000 times the SLO's limit. What is timed is the cap itself, from the write of the breach to the write of the
fall-back, so the time that a setting has to settle is in it, which no guard looks at (`--settle` of `bayop tune`,
0.5 s). The latency comes from a command, as with `--latency`; its window is 10 s.

  pushes   it prints a line every 100 ms while its window runs
  answers  it prints one line when its window is over, so that it is asked for the window's first second on its own

Example:
  cargo build --release --package bayop-agent
  python -m bench.guard.run target/release/bayop-agent --out bench/guard/results
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Final

from bench.background import Background
from bench.guard.times import summarized, tell_times
from tests.support.agents import AgentProcess, Machine

from bayop import Objective, Problem, Slo, run_search
from bayop.domains import Range
from bayop.latency.command import LatencyCommand
from bayop.live.space import agent_space
from bayop.live.target import SETTLE_S, AgentTarget
from bayop.live.trial_guard import TrialGuard
from bayop.optimize.base import Observation, Prediction, Proposal
from bayop.space import CAP_W, Setting

SLO: Final = Slo.parse("p99<500us")
WINDOW_S: Final = 10.0
BREACH, SAFE = {CAP_W: 60}, {CAP_W: 110}
PRINT: Final = """case $BAYOP_SETTING in *": 60.0}"*) p99=500000;; *) p99=200;; esac
say() { echo "{\\"vantage\\": \\"client\\", \\"p99_us\\": $p99, \\"qps\\": 1000}"; }
"""
SOURCES: Final = {
    "pushes": PRINT + "i=0; while [ $i -lt ${BAYOP_WINDOW_S%.*}0 ]; do sleep 0.1; say; i=$((i + 1)); done",
    "answers": PRINT + 'sleep "$BAYOP_WINDOW_S"; say',
}


class Breaches:
    """An optimizer that asks for the breach again and again, and would hold the safe setting."""

    def ask(self, trials_left: int) -> Proposal:  # noqa: ARG002 -- the contract's signature
        """The breach."""
        return Proposal(BREACH)

    def tell(self, observation: Observation) -> None:
        """Refuses a trial that was not cut short: then there is nothing to time."""
        assert observation.measurement.censored, observation

    def incumbent(self) -> Setting:
        """The safe setting."""
        return SAFE

    def predict(self, setting: Setting) -> Prediction | None:  # noqa: ARG002 -- the contract's signature
        """Nothing."""
        return None


class Stopwatch(Background):
    """Times how long a machine's cap is that of the breach, each time, by a look each ms."""

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        self.times_s: list[float] = []
        self._machine = machine

    def _run(self) -> None:
        began: float | None = None
        while not self._over.wait(0.001):
            cap_w = self._machine.cap_w  # NaN while the file is written
            if cap_w == BREACH[CAP_W] and began is None:
                began = time.perf_counter()
            elif cap_w > BREACH[CAP_W] and began is not None:
                self.times_s.append(time.perf_counter() - began)
                began = None


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agent", type=Path, help="the release build")
    parser.add_argument("--breaches", type=int, default=100, help="how many, from each source")
    parser.add_argument("--out", type=Path, help="write breaches.csv, summary.json and env.json into a folder")
    args = parser.parse_args()
    times_s = {name: measure(args.agent.resolve(), words, args.breaches) for name, words in SOURCES.items()}
    summary = {name: summarized(times, 3) for name, times in times_s.items()} | {"settle_s": SETTLE_S}
    tell_times(args.out, "bench.guard.run", summary, times_s, name="breaches", kind="source")


def measure(agent: Path, script: str, breaches: int) -> list[float]:
    """How long each breach lasted, in s."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Machine(folder / "root") as machine, AgentProcess(agent, folder, machine.root) as running:
            (folder / "p99").write_text(script)
            space = agent_space(running.client.knobs(), only=[CAP_W], ranges={CAP_W: Range(60, 120, 5)})
            target = AgentTarget(
                running.client,
                space,
                LatencyCommand(f"sh {folder}/p99"),
                holder="bench",
                window_s=WINDOW_S,
                guard=lambda _: TrialGuard(SLO, load_band=None),
            )
            with Stopwatch(machine) as stopwatch, target:
                problem = Problem(space.without_auto(), SLO, Objective.parse("power", SLO), target.qps)
                run_search(target, problem, Breaches(), max_trials=breaches)
            assert len(stopwatch.times_s) == breaches, "the stopwatch has missed a breach"
            return stopwatch.times_s


if __name__ == "__main__":
    main()
