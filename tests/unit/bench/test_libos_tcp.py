from __future__ import annotations

import random
import socket
from collections.abc import Callable
from contextlib import suppress
from threading import Thread

import pytest
from bench.libos.tcp.clients import echo
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


def test_a_count_must_be_positive(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--megabytes", "0"])
    assert ended.value.code == 2
    assert "must be at least 1, not 0" in capsys.readouterr().err
