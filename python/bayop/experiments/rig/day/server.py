"""What a day can be played on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from bayop.live.agent.address import Credentials
from bayop.live.agent.client import AgentClient
from bayop.live.file import Load


class Server(Protocol):
    """A memcached with an agent beside it, and what both have counted; nothing is applied when the day begins."""

    @property
    def description(self) -> str:
        """What it is, for people."""

    @property
    def caveat(self) -> str:
        """What its numbers can't say, for people."""

    @property
    def folder(self) -> Path:
        """Where `bayop run` may keep its files."""

    @property
    def address(self) -> str:
        """Where the agent answers."""

    @property
    def credentials(self) -> Credentials | None:
        """What it asks of who comes by https."""

    @property
    def client(self) -> AgentClient:
        """The agent."""

    @property
    def load(self) -> Load:
        """What its clients send."""

    @property
    def knobs(self) -> Mapping[str, str]:
        """What `bayop run` may set, with its values as its file has them."""

    def attributes(self) -> Mapping[str, str]:
        """Everything in effect that a knob could change."""

    def served(self) -> int:
        """How many requests memcached has answered until now, by its own count."""

    def service_cpu_s(self) -> float:
        """Processor time that memcached has taken, in s."""

    def polls(self) -> int:
        """NET_RX softirqs of all CPUs."""

    def energy_j(self) -> float | None:
        """What it has drawn, in J from any time on; None where nothing measures that."""
