"""HTTP for applications that are a function of a number. It runs in a process of its own, without BayOp beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast


def serve(answer: Callable[[int], bytes], address: str, port: int) -> None:
    """Answers `GET /7` with what `answer` says to 7, on connections that stay, until somebody ends the process.

    Args:
        answer: What makes an answer of a number.
        address: Where to listen.
        port: On which port.
    """

    class Http(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self._transport, self._rest = cast(asyncio.Transport, transport), b""

        def data_received(self, data: bytes) -> None:
            *requests, self._rest = (self._rest + data).split(b"\r\n\r\n")
            for request in requests:
                body = answer(int(request.split(b" ", 2)[1][1:]))
                self._transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))

    async def listen() -> None:
        server = await asyncio.get_running_loop().create_server(Http, address, port)
        await server.serve_forever()

    asyncio.run(listen())
