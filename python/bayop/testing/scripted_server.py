"""A server that answers whatever it reads with fixed bytes (hex), echoes (`echo`), or stays silent (empty).

usage: python -m bayop.testing.scripted_server PORT ANSWER
"""

from __future__ import annotations

import asyncio
import sys


async def serve(port: int, answer: str) -> None:
    """Serves until it is killed."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            if answer:
                writer.write(data if answer == "echo" else bytes.fromhex(answer))
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), sys.argv[2]))
