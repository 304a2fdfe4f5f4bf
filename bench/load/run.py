"""`bayop load` beside mutilate and memtier_benchmark: its peak, and whether what it reports is true.

A generator on one core, a memcached of one thread on another. Rounds are interleaved, so that a disturbance hits all
generators alike; compare ratios. What the kernel saw comes from eBPF: root, clang and libbpf are needed.

The peers are built from their public sources and found by their paths; docs/benchmarks.md names the versions.

Example:
  python -m bench.load.run --peers mutilate=../mutilate/mutilate,memtier=../memtier_benchmark/memtier_benchmark
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from itertools import chain
from pathlib import Path
from typing import Final

from bench import environment
from bench.load.experiments import Accuracy, Arrival, Bench, Peak, Stalled, best_shapes
from bench.load.generators import Bayop, Generator, Memtier, Mutilate, Setup, Shape
from bench.load.summary import peaks_of, summary

_SHAPES: Final = "16x16,4x128,16x128,4x256"
_SETUPS: Final = (
    Setup(binary=True, requests_per_event=1000),
    Setup(binary=True, requests_per_event=20),
    Setup(binary=False, requests_per_event=20),
)
"""In the first memcached costs least, so that it limits the generators least: it is the one for all experiments but the
peak. 20 is memcached's default."""
_PEERS: Final = {"mutilate": Mutilate, "memtier": Memtier}
_STALLED_QPS: Final = 2000.0
_EVEN_SHAPE: Final = Shape(4, 1)
"""For the server that stalls: each generator as its user would run it at a low load, with its default depth."""
_SPARSE_QPS: Final = (5000.0, 20_000.0)


@dataclass(slots=True)
class Rows:
    """What was measured, by experiment."""

    peak: list[Peak] = field(default_factory=list)
    accuracy: list[Accuracy] = field(default_factory=list)
    stalled: list[Stalled] = field(default_factory=list)
    arrivals: list[Arrival] = field(default_factory=list)


def main() -> None:
    """Runs everything, prints the summary and writes it beside the raw rows."""
    args = _arguments()
    rows = Rows()
    with tempfile.TemporaryDirectory() as folder:
        for setup in _SETUPS:
            measure_peaks(rows, setup, _generators(setup, Path(folder), args), args)
        measure_truth(rows, _SETUPS[0], _generators(_SETUPS[0], Path(folder), args), args)
    text = summary(rows.peak, rows.accuracy, rows.stalled, rows.arrivals)
    out = args.out or environment.results_folder(Path(__file__).parent / "results")
    environment.write(out, "bench.load.run", sys.argv[1:], loadavg=_loadavg())
    for name in (f.name for f in fields(rows)):
        _write_csv(out / f"{name}.csv", getattr(rows, name))
    (out / "summary.md").write_text(text)
    sys.stdout.write(text)


def measure_peaks(rows: Rows, setup: Setup, generators: Sequence[Generator], args: argparse.Namespace) -> None:
    """Fills the peaks: first of every shape, and then rounds of each generator's best."""
    bench = _bench(setup, args)
    trials: list[Peak] = []
    for shape in args.shapes * args.tries:
        trials += bench.peaks(0, [(g, shape) for g in generators])
    shapes = best_shapes(trials)
    rounds = [bench.peaks(n, [(g, _shape(shapes[g.name])) for g in generators]) for n in range(1, args.rounds + 1)]
    peaks = [*trials, *chain.from_iterable(rounds)]
    _say(peaks)
    rows.peak += peaks


def measure_truth(rows: Rows, setup: Setup, generators: Sequence[Generator], args: argparse.Namespace) -> None:
    """Fills the rest, at half of the peaks."""
    bench = _bench(setup, args)
    bayop = next(g for g in generators if isinstance(g, Bayop))
    shapes = {p.generator: _shape(p.shape) for p in rows.peak if p.setup == str(setup) and p.round > 0}
    half = {name: peak_qps / 2.0 for name, peak_qps in peaks_of(rows.peak, str(setup)).items()}
    for round_ in range(1, args.rounds + 1):
        rows.accuracy += [bench.accuracy(round_, g, shapes[g.name], half[g.name]) for g in generators]
        rows.stalled += [bench.stalled(round_, g, _EVEN_SHAPE, _STALLED_QPS) for g in generators]
        loads = (half[bayop.name], *_SPARSE_QPS)
        rows.arrivals += [bench.arrivals(round_, bayop, shapes[bayop.name], qps) for qps in loads]
    _say([*rows.accuracy, *rows.stalled, *rows.arrivals])


def _bench(setup: Setup, args: argparse.Namespace) -> Bench:
    return Bench(setup, server_cpu=args.server_cpu, duration_s=args.duration, build=args.build)


def _generators(setup: Setup, scratch: Path, args: argparse.Namespace) -> list[Generator]:
    peers = [_PEERS[name](path, setup, cpu=args.client_cpu, scratch=scratch) for name, path in args.peers.items()]
    return [Bayop(setup, cpu=args.client_cpu, scratch=scratch), *peers]


def _say(rows: Sequence[object]) -> None:
    for row in rows:
        print(row, file=sys.stderr)


def _loadavg() -> str:
    return Path("/proc/loadavg").read_text(encoding="utf-8").strip()


def _shape(text: str) -> Shape:
    connections, _, depth = text.partition("x")
    return Shape(int(connections), int(depth))


def _peer_paths(text: str) -> dict[str, Path]:
    paths = {name: Path(path) for name, _, path in (pair.partition("=") for pair in text.split(","))}
    for name, path in paths.items():
        if name not in _PEERS:
            raise argparse.ArgumentTypeError(f"there is no peer {name!r}; there are {', '.join(_PEERS)}")
        if not path.is_file():
            raise argparse.ArgumentTypeError(f"there is no program {path} for {name}")
    return paths


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=_peer_paths, default={}, metavar="NAME=PATH,...", help="mutilate, memtier")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--duration", type=float, default=5.0, metavar="SECONDS", help="of a run; whole seconds")
    parser.add_argument(
        "--shapes",
        type=lambda text: [_shape(shape) for shape in text.split(",")],
        default=[_shape(shape) for shape in _SHAPES.split(",")],
        metavar="CONNECTIONSxDEPTH,...",
        help=f"what is tried to find each generator's best (default: {_SHAPES})",
    )
    parser.add_argument("--tries", type=int, default=3, help="how often each is tried")
    parser.add_argument("--client-cpu", type=int, default=0)
    parser.add_argument("--server-cpu", type=int, default=1)
    parser.add_argument("--build", type=Path, default=Path("build/bench"), help="folder for the compiled eBPF program")
    parser.add_argument("--out", type=Path, help="folder of the results (default: bench/load/results/...)")
    return parser.parse_args()


def _write_csv(path: Path, rows: Sequence[object]) -> None:
    if not rows:
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [f.name for f in fields(rows[0])])  # type: ignore[arg-type]
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)  # type: ignore[call-overload]


if __name__ == "__main__":
    main()
