"""Several machines load one server: peers, and the coordinator that splits the load over them.

The coordinator keeps a measuring client of its own, as mutilate does: its load is so light that its latencies are the
server's, whatever queues build up in the peers. Histograms of all clients merge exactly beside it.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import Final, Self

from bayop import _core
from bayop.errors import BayopError, InputError, Parameter, printable, reason
from bayop.load.generator import Result, offered_qps, run
from bayop.load.plan import ClosedLoop, OpenLoop, Piece, Plan, Replay, ThinkingLoop, translate
from bayop.load.wire import Channel, PeerError, keep_alive, split

_PATIENCE_S: Final = 30.0
_HELLO_S: Final = 5.0
"""A coordinator greets at once. Whoever does not keeps others waiting, and is none."""
_IDLE_S: Final = 3600.0
"""A coordinator may store records before its first plan."""
_MEASURE_SHARE: Final = 0.1
_MEASURE_QPS: Final = 1000.0


def serve(listen: str, *, weight: float, on_event: Callable[[str], None], runs: int | None = None) -> None:
    """Listens for coordinators and runs their plans, one after the other, until it is interrupted.

    Args:
        listen: `host` or `host:port` to listen on. Whoever reaches it can make this machine send load.
        weight: This machine's share of the load, relative to that of other peers.
        on_event: Told in words what happens.
        runs: End after so many coordinators; None serves for ever.
    """
    try:
        host, port = split(listen)
        listener = socket.create_server((host, port))
    except InputError as error:
        raise error.at(Parameter("listen")) from error
    except OSError as error:
        raise InputError(
            wrong=f"cannot listen on {listen}: {reason(error)}", value=listen, parameter="listen"
        ) from error
    with listener:
        on_event(f"listening on {host}:{port}")
        count = 0
        while runs is None or count < runs:
            connection, (peer, *_) = listener.accept()
            count += 1
            keep_alive(connection)
            with Channel(connection, peer) as channel:
                try:
                    _serve_one(channel, weight, on_event)
                except BayopError as error:
                    on_event(printable(error.message))


def _serve_one(channel: Channel, weight: float, on_event: Callable[[str], None]) -> None:
    """Answers a coordinator until it says goodbye: hello - weight, plan - ready, go - report."""
    message = channel.receive(_HELLO_S)
    while "bye" not in message:
        if "hello" in message:
            channel.send({"weight": weight})
        elif "plan" in message:
            channel.send({"ready": True})
            channel.receive(_PATIENCE_S)
            on_event(f"running a plan of {channel.peer}")
            channel.send({"report": json.loads(_run_part(channel, json.dumps(message["plan"])).to_json())})
        # What is left is a stop for a run that had already ended here.
        message = channel.receive(_IDLE_S)


def _run_part(channel: Channel, plan: str) -> _core.LoadReport:
    try:
        report = _core.load_run(plan, stop=channel.has_message)
    except _core.Error as error:
        channel.send({"error": str(error)})
        raise translate(error) from error
    if report.interrupted and not channel.has_message():
        raise KeyboardInterrupt
    return report


@dataclass(frozen=True, slots=True, kw_only=True)
class Measuring:
    """The measuring client.

    Attributes:
        qps: Its load; None is a tenth of the whole, at most 1000 requests/s.
        connections: Its connections per thread and server; None is those of the plan.
        depth: Its depth; None is no limit.
    """

    qps: float | None = None
    connections: int | None = None
    depth: int | None = None


class Coordinated(Result):
    """What the measuring client saw, and what all clients saw together.

    Args:
        measured: Report of the measuring client.
        everything: What all clients saw, merged.
    """

    def __init__(self, measured: _core.LoadReport, everything: Result) -> None:
        self.everything = everything
        super().__init__(measured, everything.offered_qps)

    def append(self, later: Result) -> None:
        """Adds a later measurement at the same load."""
        super().append(later)
        if isinstance(later, Coordinated):
            self.everything.append(later.everything)

    @property
    def achieved_qps(self) -> float:
        """Good answers per second to all clients."""
        return self.everything.achieved_qps

    @property
    def problems(self) -> list[str]:
        """Why this result is no good. That peers are late does not spoil it: they don't measure."""
        problems = [problem for problem in self.everything.problems if "late" not in problem]
        return [*super().problems, *(f"all clients: {problem}" for problem in problems)]


class Coordinator:
    """Runs plans on peers and on this machine at once.

    Args:
        peers: `host` or `host:port` each.
        measuring: The measuring client here.

    Raises:
        PeerError: a peer does not answer.
    """

    def __init__(self, peers: Sequence[str], measuring: Measuring) -> None:
        self._measuring = measuring
        with ExitStack() as stack:
            self._channels = [_greeted(stack, address) for address in peers]
            self._weights = [_weight(channel) for channel in self._channels]
            self._stack = stack.pop_all()

    def run(self, plan: Plan) -> Coordinated:
        """Runs one plan.

        Raises:
            PeerError: a peer is gone or failed.
        """
        mine, theirs = split_plan(plan, self._weights, self._measuring)
        for channel, part in zip(self._channels, theirs, strict=True):
            channel.send({"plan": json.loads(part.to_json())})
        for channel in self._channels:
            channel.receive(_PATIENCE_S)
        for channel in self._channels:
            channel.send({"go": True})
        measured = run(mine)
        if measured.report.interrupted or measured.report.ended_early:
            for channel in self._channels:
                channel.send({"stop": True})
        patience_s = _PATIENCE_S + plan.timeout_s
        reports = [_report(channel, patience_s) for channel in self._channels]
        total = measured.report.copy()
        for report in reports:
            total.merge(report)
        return Coordinated(measured.report, Result(total, offered_qps(plan)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for channel in self._channels:
            with suppress(PeerError):
                channel.send({"bye": True})
        self._stack.close()


def _greeted(stack: ExitStack, address: str) -> Channel:
    """A channel to a peer that knows at once that a coordinator is there."""
    channel = stack.enter_context(Channel.connect(address))
    channel.send({"hello": True})
    return channel


def _weight(channel: Channel) -> float:
    weight = channel.receive(_PATIENCE_S).get("weight")
    if isinstance(weight, bool) or not isinstance(weight, int | float) or weight <= 0:
        raise PeerError("a load peer's weight must be a positive number", value=str(weight), place=channel.peer)
    return float(weight)


def _report(channel: Channel, timeout_s: float) -> _core.LoadReport:
    try:
        return _core.LoadReport.from_json(json.dumps(channel.receive(timeout_s).get("report")))
    except _core.Error as error:
        raise PeerError.of(error).but(place=channel.peer) from error


def split_plan(plan: Plan, weights: Sequence[float], measuring: Measuring) -> tuple[Plan, list[Plan]]:
    """The measuring client's part of a plan, and each peer's.

    The peers share what the measuring client leaves, in proportion to their weights; in a closed loop it sends beside
    them. Every part has a seed of its own.

    Raises:
        InputError: the measuring client is to send more than there is, or the plan replays a trace.
    """
    schedule = plan.schedule
    mine = replace(plan, connections=measuring.connections or plan.connections, depth=measuring.depth)
    if isinstance(schedule, Replay):
        raise InputError(
            "several machines must send what a random process says",
            wrong="a replay can't be shared",
            value="a replay",
        )
    if isinstance(schedule, ClosedLoop | ThinkingLoop):
        light = OpenLoop.constant(measuring.qps or _MEASURE_QPS)
        return replace(mine, schedule=light), [replace(plan, seed=plan.seed + 1 + i) for i in range(len(weights))]
    least_qps = min(piece.qps for piece in schedule.pieces)
    measure_qps = measuring.qps or min(_MEASURE_QPS, _MEASURE_SHARE * least_qps)
    if measure_qps >= least_qps:
        raise InputError(
            f"the measuring client must send less than all ({least_qps:g})", value=measure_qps, parameter="measure_qps"
        )
    parts = []
    for index, weight in enumerate(weights):
        share = weight / sum(weights)
        pieces = tuple(Piece(piece.duration_s, (piece.qps - measure_qps) * share) for piece in schedule.pieces)
        parts.append(
            replace(
                plan,
                schedule=replace(schedule, pieces=pieces),
                seed=plan.seed + 1 + index,
                save_samples=False,
                until_interval=None,
            )
        )
    return replace(mine, schedule=OpenLoop(tuple(Piece(p.duration_s, measure_qps) for p in schedule.pieces))), parts
