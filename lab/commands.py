"""Shell commands in the guest, through QEMU's guest agent (QEMU documents interop/qemu-ga-ref: guest-exec)."""

from __future__ import annotations

import base64
import time
from dataclasses import dataclass

from lab.channel import Channel
from lab.errors import CommandError

_POLL_S = 0.01


@dataclass(frozen=True)
class CommandResult:
    """What a command in the guest did."""

    exit_code: int
    stdout_bytes: bytes
    stderr: str

    @property
    def stdout(self) -> str:
        """The output as text; what is not UTF-8 in it is replaced."""
        return self.stdout_bytes.decode(errors="replace")


def run(channel: Channel, command: str, *, stdin: bytes, timeout_s: float) -> CommandResult:
    """Runs a command, whatever its exit code; one that takes too long is killed with all of its children.

    Raises:
        CommandError: The command took longer than `timeout_s`.
    """
    # In a session of its own, so that its process group, which has its pid, can be killed as a whole.
    arguments = {
        "path": "/usr/bin/setsid",
        "arg": ["/bin/sh", "-c", command],
        "input-data": base64.b64encode(stdin).decode(),
        "capture-output": True,
    }
    pid = channel.execute("guest-exec", arguments)["pid"]
    deadline = time.monotonic() + timeout_s
    while not (status := channel.execute("guest-exec-status", {"pid": pid}))["exited"]:
        if time.monotonic() > deadline:
            channel.execute("guest-exec", {"path": "/bin/kill", "arg": ["-KILL", f"-{pid}"]})
            raise CommandError(
                wrong=f"a command in the guest ran for over {timeout_s:g} s",
                value=f"over {timeout_s:g} s",
                place=command,
            )
        time.sleep(_POLL_S)
    return CommandResult(
        # A command that a signal ended gets the exit code that a shell would give it.
        exit_code=status["exitcode"] if "exitcode" in status else 128 + int(status["signal"]),
        stdout_bytes=base64.b64decode(status.get("out-data", "")),
        stderr=base64.b64decode(status.get("err-data", "")).decode(errors="replace"),
    )
