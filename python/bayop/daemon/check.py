"""What a service would do, and what is missing before it can, each with its place in the file. Writes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from bayop.daemon.advice.models import model_of
from bayop.daemon.file import DaemonFile, ServiceFile
from bayop.daemon.operator.listener import check_socket
from bayop.daemon.operator.wire import socket_of
from bayop.daemon.plant import LivePlant
from bayop.errors import BayopError, InputError
from bayop.live.agent.checks import check_applies
from bayop.live.agent.client import AgentClient
from bayop.live.search import client_of, space_of
from bayop.search import check_measured
from bayop.state.records import check_state, known

_RECEIVED: Final = "nic_rx_packets"


@dataclass(slots=True)
class Finding:
    """What was found out about one service.

    Attributes:
        service: What the file says of it.
        would: What it would do, for people.
        seen: What one window of the machine as it is has shown; empty where none could be measured.
        notes: What may surprise, and keeps nothing from working.
        problems: What is missing; each has its place in the file.
    """

    service: ServiceFile
    would: list[str] = field(default_factory=list)
    seen: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    problems: list[BayopError] = field(default_factory=list)


def check(file: DaemonFile) -> list[Finding]:
    """Asks every service's agent and source of latency, and measures a window of each machine as it is."""
    return [_Check(file, service).run() for service in file.services]


class _Check:
    def __init__(self, file: DaemonFile, service: ServiceFile) -> None:
        self._file, self._service = file, service
        self._finding = Finding(service)

    def run(self) -> Finding:
        service, finding = self._service, self._finding
        windows = f"windows of {service.watch_s:g} s under {service.slo}"
        if service.mode == "observe":
            finding.would = [f"would watch {windows}, and write nothing"]
        elif service.mode == "advise":
            finding.would = [f"would watch {windows}, write nothing, and say what a search would find"]
        else:
            knobs = [f"{knob} {service.live.ranges.get(knob, '')}".rstrip() for knob in service.live.knobs]
            what = ", ".join(knobs) or "what the agent allows"
            finding.would = [f"would search {what}, hold what it finds, and watch {windows}"]
        self._check_state()
        before = len(finding.problems)
        with self._place("", "agent"):
            client = client_of(service.live)
            client.status()
        if len(finding.problems) == before:
            if service.mode == "apply":
                self._check_apply(client)
            elif service.mode == "advise":
                self._check_advise(client)
            self._check_senses(client)
        self._check_group()
        return finding

    def _check_state(self) -> None:
        try:
            note = check_state(self._file.state)
            self._finding.notes += [] if note is None else [note]
            check_socket(socket_of(self._file.state))
        except InputError as error:
            self._finding.problems.append(error.but(place=self._file.toml.place("", "state")))

    def _check_apply(self, client: AgentClient) -> None:
        service, hold = self._service, self._service.hold
        if self._file.is_stopped:
            self._finding.notes.append(f"{self._file.stop_file} is there: nothing is searched or held while it is")
        with self._place("", "mode"):
            check_applies(client)
        if (holder := client.status().lease_holder) is not None:
            self._finding.notes.append(f"{holder} holds the agent's lease: nothing is searched before it ends")
        if hold.silence_s is not None and hold.silence_s <= service.watch_s:
            note = f"silence_s {hold.silence_s:g} is no longer than watch_s {service.watch_s:g}"
            self._finding.notes.append(f"{note}: something beside the service must push latencies to the agent")
        if hold.silence_s is not None and service.slo.also:
            others = ", ".join(limit.quantity.removesuffix("_us") for limit in service.slo.also)
            agent = f"the agent guards {service.slo.quantity.removesuffix('_us')} alone"
            self._finding.notes.append(
                f"{agent}: {others} is looked at when a window of {service.watch_s:g} s has ended"
            )
        if hold.band is not None:
            with self._place("hold", "device"):
                _check_device(client, hold.band.device)
        with self._place("knobs"):
            space = space_of(service.live, client).without_auto()
            knobs = ", ".join(f"{knob.id} {knob.describe()}" for knob in space.knobs)
            aim = f"the least {service.objective.name} under {service.slo}, in at most {service.max_trials} trials"
            hold_on = f"watched in windows of {service.watch_s:g} s; without bayop for {hold.lease_s:g} s at most"
            self._finding.would = [f"would search {knobs} for {aim}", f"would hold what it finds, {hold_on}"]

    def _check_advise(self, client: AgentClient) -> None:
        service = self._service
        with self._place("knobs"):
            space = space_of(service.live, client, writes=False).without_auto()
            with self._place("", "advise_from" if service.advise_from else "twin" if service.twin else "mode"):
                quantities = {*service.slo.quantities, *service.objective.quantities}
                remembered = known(self._file.state, service.name, knobs=space.ids, quantities=quantities)
                self._finding.would.append(f"would make advice of {model_of(service, space, remembered).name}")

    def _check_senses(self, client: AgentClient) -> None:
        """Measures one window, as the service would."""
        with self._place("", "latency"):
            machine = LivePlant(self._service, client, None, holder="bayop run --check")
            self._finding.seen = dict(machine.baseline.quantities)
            with self._place("", "slo"):
                check_measured(machine, self._service.objective)

    def _check_group(self) -> None:
        if (group := self._service.group) is None:
            return
        names = [service.name for service in self._file.services if service.group == group]
        if len(names) > 1:
            self._finding.would.append(f"of the group {group} one is searched at a time: {', '.join(names)}")
        else:
            self._finding.notes.append(f"no other service is of the group {group}")

    @contextmanager
    def _place(self, table: str, key: str | None = None) -> Iterator[None]:
        """Notes an error as a problem at a place of the file."""
        try:
            yield
        except BayopError as error:
            name = f"service.{self._service.name}"
            toml = self._file.toml
            place = toml.place(f"{name}.{table}" if table else name, key)
            if ":" not in place:
                place = toml.place(name)
            if error.place is not None and error.place.startswith(f"{self._file.path}:"):
                place, inner = error.place, ""  # it knows its line
            else:
                inner = f", {error.place}" if error.place else ""
            self._finding.problems.append(error.but(place=f"{place}{inner}"))


def _check_device(client: AgentClient, name: str) -> None:
    devices = sorted({reading.at for reading in client.sensors() if reading.name == _RECEIVED})
    if name not in devices:
        hint = f"network devices: {', '.join(devices)}"
        raise InputError(wrong=f"there is no network device {name}", value=name, hint=hint)
