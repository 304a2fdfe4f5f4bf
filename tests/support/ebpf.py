"""Programs that load eBPF programs, started as systemd starts them for an agent, and what they leave in the kernel."""

from __future__ import annotations

import socket
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def listening(path: Path, command: Sequence[str]) -> Iterator[Sequence[subprocess.Popen[bytes]]]:
    """A socket of systemd's with Accept=yes: each connection is the standard input and output of a process."""
    processes: list[subprocess.Popen[bytes]] = []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()

        def accept() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    processes.append(subprocess.Popen(command, stdin=connection.fileno(), stdout=connection.fileno()))

        threading.Thread(target=accept, daemon=True).start()
        yield processes
        listener.shutdown(socket.SHUT_RDWR)
        for process in processes:
            process.wait(timeout=20)


def attached_programs(name: str) -> int:
    """How many links of eBPF programs the processes of a name hold; the kernel's bpf_link_show_fdinfo()."""
    links = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if Path((process / "cmdline").read_text().split("\0")[0]).name == name:
                links += sum("link_type:" in info.read_text() for info in (process / "fdinfo").iterdir())
        except OSError:
            continue
    return links
