from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from bayop.daemon.notify import Notifier


@pytest.mark.parametrize("abstract", [False, True])
def test_the_service_manager_is_told(tmp_path: Path, abstract: bool) -> None:  # noqa: FBT001
    name = f"@bayop-test-{os.getpid()}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"\0{name[1:]}" if abstract else name)
        Notifier(name).send("READY=1")
        assert manager.recv(100) == b"READY=1"


@pytest.mark.parametrize("address", [None, "", "/nowhere/notify", "x" * 300])
def test_where_nobody_listens_nothing_happens(address: str | None) -> None:
    Notifier(address).send("READY=1")
