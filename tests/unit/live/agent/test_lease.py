"""Holding a lease against an agent that answers, falls silent, or lets somebody else in; the real one end to end."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from bayop.errors import BayopError, DriftError
from bayop.live.agent.address import UnixAddress
from bayop.live.agent.client import AgentClient
from bayop.live.agent.lease import Lease
from bayop.live.agent.messages import Released
from bayop.live.agent.transport import ConflictError, Transport, UnreachableError

TTL_S = 0.15


class Agent(AgentClient):
    """Grants a lease; every renewal and release does what the test says."""

    def __init__(self, answer: Callable[[int], BayopError | None] = lambda _: None) -> None:
        super().__init__(Transport(UnixAddress("/run/bayop/agent.sock")))
        self.renewed, self.released = list[str](), list[tuple[str, bool]]()
        self._answer = answer

    def acquire(self, holder: str, ttl_s: float) -> str:
        return f"lease of {holder}, {ttl_s:g} s"

    def renew(self, lease: str, *, timeout_s: float, ttl_s: float | None = None) -> None:
        assert 0 < timeout_s < 1
        assert ttl_s is None
        self.renewed.append(lease)
        error = self._answer(len(self.renewed))
        if error is not None:
            raise error

    def release(self, lease: str, *, keep: bool) -> Released:
        self.released.append((lease, keep))
        error = self._answer(0)
        if error is not None:
            raise error
        return Released(("nic.rx_usecs@eth0",), (), ())


def silent(_: int) -> BayopError:
    return UnreachableError("an agent listens at its address", place="unix:/run/bayop/agent.sock")


def test_it_is_renewed_until_it_is_released() -> None:
    agent = Agent()
    lease = Lease(agent, holder="me", ttl_s=TTL_S)
    lease.sleep(1.5 * TTL_S)
    assert len(agent.renewed) >= 2
    assert set(agent.renewed) == {"lease of me, 0.15 s"}
    assert lease.release(keep=True).restored == ("nic.rx_usecs@eth0",)
    assert agent.released == [("lease of me, 0.15 s", True)]
    renewals = len(agent.renewed)
    time.sleep(TTL_S)
    assert len(agent.renewed) == renewals


def test_a_network_that_is_gone_for_less_than_the_lease_is_forgiven() -> None:
    lease = Lease(Agent(lambda number: silent(number) if number == 1 else None), holder="me", ttl_s=TTL_S)
    lease.sleep(1.5 * TTL_S)
    lease.release(keep=False)


def test_one_that_is_gone_for_longer_ends_the_wait() -> None:
    agent = Agent(silent)
    lease = Lease(agent, holder="me", ttl_s=TTL_S)
    started = time.monotonic()
    with pytest.raises(DriftError) as caught:
        lease.sleep(30.0)
    assert time.monotonic() - started < 10.0
    assert caught.value.message == (
        "the agent ended the lease before the work was done (an agent listens at its address "
        "(unix:/run/bayop/agent.sock))"
    )
    assert "nothing stays applied" in str(caught.value.hint)
    with pytest.raises(DriftError, match="the agent ended the lease before the work was done"):
        lease.release(keep=False)
    assert agent.released == [], "what is lost is not released"


def test_an_agent_that_knows_the_lease_no_longer_ends_the_wait_at_once() -> None:
    lease = Lease(Agent(lambda _: ConflictError("the lease is held")), holder="me", ttl_s=TTL_S)
    with pytest.raises(DriftError, match=r"\(the lease is held\)"):
        lease.sleep(30.0)


def test_an_agent_that_dies_before_the_release_is_drift_and_no_success() -> None:
    lease = Lease(Agent(lambda number: silent(number) if number == 0 else None), holder="me", ttl_s=30.0)
    with pytest.raises(DriftError, match="the agent ended the lease before the work was done"):
        lease.release(keep=True)


class Patient(Agent):
    """Takes another length, and notes when it was renewed."""

    def renew(self, lease: str, *, timeout_s: float, ttl_s: float | None = None) -> None:
        del lease, timeout_s
        self.renewals.append((time.monotonic(), ttl_s))
        error = self._answer(len(self.renewals))
        if error is not None:
            raise error

    renewals: list[tuple[float, float | None]]


def patient(answer: Callable[[int], BayopError | None] = lambda _: None) -> Patient:
    agent = Patient(answer)
    agent.renewals = []
    return agent


def test_it_lasts_for_minutes_while_a_setting_is_held_and_for_seconds_again() -> None:
    agent = patient()
    lease = Lease(agent, holder="me", ttl_s=TTL_S)
    lease.last(600.0)
    assert agent.renewals[-1][1] == 600.0
    lease.last(600.0)
    asked = len(agent.renewals)
    lease.sleep(3 * TTL_S)
    assert len(agent.renewals) == asked, "a third of ten minutes has not passed"
    lease.last(TTL_S)
    lease.sleep(4 * TTL_S)
    assert len(agent.renewals) >= asked + 3, "the thread did not wait for the end of the long pause"
    lease.release(keep=False)


@pytest.mark.parametrize("answer", [silent, lambda _: ConflictError(wrong="somebody else holds it")])
def test_one_that_was_lost_gets_no_other_length(answer: Callable[[int], BayopError]) -> None:
    lease = Lease(patient(answer), holder="me", ttl_s=60.0)
    with pytest.raises(DriftError, match="the agent ended the lease"):
        lease.last(600.0)
