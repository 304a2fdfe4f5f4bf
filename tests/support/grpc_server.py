"""A server of gRPC on a port: its method says what comes of a call.

Example:
  python -m tests.support.grpc_server 50051
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import grpc

FAILURES = {"Missing": grpc.StatusCode.NOT_FOUND, "Broken": grpc.StatusCode.INTERNAL}


class Echo(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Any service: `Echo` gives a message back, and other methods end as `FAILURES` has it."""

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        """What answers calls of a method."""
        return grpc.unary_unary_rpc_method_handler(_answer(details.method.rpartition("/")[2]))


def _answer(method: str) -> Callable[[bytes, grpc.ServicerContext], bytes]:
    def answer(message: bytes, context: grpc.ServicerContext) -> bytes:
        if method in FAILURES:
            context.abort(FAILURES[method], f"{method}: {message.decode()}")
        return message

    return answer


if __name__ == "__main__":
    server = grpc.server(ThreadPoolExecutor(2), handlers=[Echo()])
    server.add_insecure_port(f"127.0.0.1:{sys.argv[1]}")
    server.start()
    server.wait_for_termination()
