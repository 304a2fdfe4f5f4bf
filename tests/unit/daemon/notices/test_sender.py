"""Against real peers: one that answers, one that redirects, refuses, is slow, is dead, or speaks no TLS."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.patience import eventually
from tests.support.peers import Peer
from tests.support.servers import free_port

from bayop.daemon.notices.sender import Sender
from bayop.daemon.notices.terms import Notify

EVENT = {"event": "trouble", "time": "2026-01-01T00:00:00+00:00", "service": "web", "message": "it is broken"}
WITHIN_S = 30.0


@pytest.fixture
def peer() -> Iterator[Peer]:
    peer = Peer()
    yield peer
    peer.end()


def lost(url: str, *, token_file: Path | None = None) -> list[tuple[str, str]]:
    """What was not delivered of one event that is told and one that is not, in this thread."""
    told: list[tuple[str, str]] = []
    sender = Sender(
        Notify(url, ("trouble",), token_file), lambda what, why: told.append((what, why)), pauses_s=(0.01, 0.01)
    )
    sender.hear({"event": "window"})
    sender.hear(EVENT)
    sender._events.put(None)
    sender._run()
    return told


def test_an_event_is_sent_as_programs_read_it(peer: Peer, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.touch(mode=0o600)
    token.write_text("secret\n", encoding="ascii")
    assert lost(f"http://{peer.address}/hook?room=ops", token_file=token) == []
    ((path, headers, body),) = peer.got
    assert (path, body, headers["Authorization"]) == ("/hook?room=ops", EVENT, "Bearer secret")
    assert headers["Content-Type"] == "application/json"


def test_a_peer_in_trouble_is_asked_again(peer: Peer) -> None:
    peer.answers = [503, 429, 200]
    assert lost(f"http://{peer.address}") == []
    assert len(peer.got) == 3


@pytest.mark.parametrize(("status", "attempts"), [(503, 3), (404, 1), (302, 1)])
def test_what_is_not_taken_is_said_to_be_lost_and_a_redirect_is_not_followed(
    peer: Peer, status: int, attempts: int
) -> None:
    peer.answers = [status]
    assert lost(f"http://{peer.address}") == [("trouble", f"it answers {status}")]
    assert [path for path, _, _ in peer.got] == ["/"] * attempts


def test_a_dead_peer_and_one_without_tls(peer: Peer) -> None:
    ((_, why),) = lost(f"http://127.0.0.1:{free_port()}")
    assert "refused" in why.lower()
    ((_, why),) = lost(f"https://{peer.address}")
    assert why.startswith("TLS failed: ")
    ((_, why),) = lost("http://a..b/")
    assert why


def test_a_slow_peer_makes_nobody_wait(peer: Peer) -> None:
    peer.goes_on.clear()
    told: list[tuple[str, str]] = []
    sender = Sender(Notify(f"http://{peer.address}", ("trouble",), None), lambda what, why: told.append((what, why)))
    with sender.sending():
        for _ in range(200):
            sender.hear(EVENT)
        assert eventually(lambda: bool(peer.got), within_s=WITHIN_S)
        peer.goes_on.set()
        assert eventually(lambda: bool(told), within_s=WITHIN_S)
    assert told[0][0].endswith(" more")
    assert told[0][1] == "too many waited"
