"""An open-loop load on memcached: requests leave when they are due, however late the answers are."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from lab import Machine

_REQUEST, _ANSWER = b"get absent\r\n", b"END\r\n"


async def _send(writers: list[asyncio.StreamWriter], *, requests: int, rate_per_s: float) -> None:
    loop = asyncio.get_running_loop()
    started = loop.time()
    for number in range(requests):
        await asyncio.sleep(started + number / rate_per_s - loop.time())
        writers[number % len(writers)].write(_REQUEST)


async def _open(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection that is known to work: QEMU's user-mode network drops what comes while it is opening another."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(_REQUEST)
    await reader.readexactly(len(_ANSWER))
    return reader, writer


async def _send_all(port: int, *, rate_per_s: float, duration_s: float, connections: int) -> None:
    streams = [await _open(port) for _ in range(connections)]
    rounds = round(rate_per_s * duration_s / connections)
    async with asyncio.timeout(duration_s + 10), asyncio.TaskGroup() as group:
        group.create_task(
            _send([writer for _, writer in streams], requests=rounds * connections, rate_per_s=rate_per_s)
        )
        for reader, _ in streams:
            group.create_task(reader.readexactly(rounds * len(_ANSWER)))
    for _, writer in streams:
        writer.close()


def send_load(port: int, *, rate_per_s: float, duration_s: float, connections: int = 16) -> None:
    """Sends GET requests at this rate over all connections in turn and waits for every answer.

    Raises:
        TimeoutError: Some were not answered within ten seconds after the last one.
    """
    asyncio.run(_send_all(port, rate_per_s=rate_per_s, duration_s=duration_s, connections=connections))


@contextmanager
def loaded(machine: Machine, duration_s: float) -> Iterator[None]:
    """A hundred requests/s meanwhile."""
    with ThreadPoolExecutor() as pool:
        load = pool.submit(send_load, machine.ports.memcached, rate_per_s=100.0, duration_s=duration_s)
        yield
        load.result()
