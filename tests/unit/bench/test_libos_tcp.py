from __future__ import annotations

import random
import socket
from collections.abc import Callable
from contextlib import suppress
from threading import Thread

import pytest
from bench.libos.tcp.clients import echo
from bench.libos.tcp.flood import syn
from bench.libos.tcp.frames import FIN, SYN, Segment, segment
from bench.libos.tcp.link import Trouble
from bench.libos.tcp.run import main


def against(answer: Callable[[bytes], bytes], length: int) -> None:
    """Sends a stream to a server that gives back what `answer` makes of each piece, until that is empty."""

    def serve() -> None:
        client, _ = listener.accept()
        with client, suppress(ConnectionError):
            while piece := answer(client.recv(1 << 16)):
                client.sendall(piece)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Thread(target=serve, daemon=True)
        server.start()
        echo(("127.0.0.1", listener.getsockname()[1]), length, seed=3)
        server.join()


def test_a_stream_that_comes_back_is_intact() -> None:
    against(lambda piece: piece, 3_000_000)


def test_one_wrong_byte_in_a_stream_is_seen() -> None:
    came = 0

    def spoil(piece: bytes) -> bytes:
        nonlocal came
        came += len(piece)
        return piece[:-1] + bytes([piece[-1] ^ 1]) if piece and came > 2_000_000 else piece

    with pytest.raises(OSError, match="stream 3 is not what was sent after"):
        against(spoil, 3_000_000)


def test_a_stream_that_ends_early_is_seen() -> None:
    left = iter([True])
    with pytest.raises(OSError, match=r"stream 3 ends after \d+ bytes|reset"):
        against(lambda piece: piece if next(left, False) else b"", 3_000_000)


def test_a_network_is_as_bad_as_it_is_told_to_be() -> None:
    chance, trouble = random.Random(5), Trouble(lost=0.05, repeated=0.1, late=0.25)
    copies = [list(trouble.delays_s(chance)) for _ in range(20_000)]
    came = [delay_s for delays_s in copies for delay_s in delays_s]
    assert len(came) / len(copies) == pytest.approx(1.1 * 0.95, abs=0.01)
    assert sum(delay_s > 0.0 for delay_s in came) / len(came) == pytest.approx(0.25, abs=0.01)
    assert max(came) < 0.0021
    good = Trouble(lost=0.0, repeated=0.0, late=0.0)
    assert [list(good.delays_s(chance)) for _ in range(100)] == [[0.0]] * 100


def test_a_segment_made_by_hand_says_what_it_was_told_to() -> None:
    forged = Segment(("10.208.0.99", 40_000), ("10.208.0.2", 11_211), (1 << 32) - 1, 7, SYN | FIN, length=2)
    frame = forged.frame(b"\x52\x54\x00\x12\x34\x56")
    assert segment(frame) == forged
    assert forged.next == 1
    for start in (14, 34):  # a right header adds up to nothing
        words = frame[start : start + 20]
        if start == 34:
            words += frame[26:34] + bytes((0, 6, 0, 20))
        total = sum(int.from_bytes(words[at : at + 2], "big") for at in range(0, len(words), 2))
        assert total % 0xFFFF == 0
    assert segment(frame[:12] + b"\x08\x06" + frame[14:]) is None


def test_no_two_of_a_flood_are_of_one_address() -> None:
    numbers = [*range(1 << 17)]
    assert len({syn(("10.208.0.2", 11_211), number).source for number in numbers}) == len(numbers)


def test_a_count_must_be_positive(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--megabytes", "0"])
    assert ended.value.code == 2
    assert "must be at least 1, not 0" in capsys.readouterr().err
