"""`bayop run` whose stderr is the stream of a real systemd-journald, in namespaces of their own."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

from tests.support.needs import need, require

JOURNALD = Path("/lib/systemd/systemd-journald")
WITHIN_S = 60

# As the service manager starts a service: connected to the journal's stream (systemd's log-stream protocol).
IN_JOURNAL = """
import os, socket, sys
stream = socket.socket(socket.AF_UNIX)
stream.connect("/run/systemd/journal/stdout")
stream.sendall(b"bayop\\n\\n6\\n1\\n0\\n0\\n0\\n")
os.dup2(stream.fileno(), 2)
status = os.fstat(2)
os.environ["JOURNAL_STREAM"] = f"{status.st_dev}:{status.st_ino}"
os.execv(sys.executable, [sys.executable, "-m", "bayop", "run", sys.argv[1]])
"""


def journal_of(tmp_path: Path, then: str) -> list[dict[str, str]]:
    """The entries of a run that has trouble, and ends by SIGTERM; `then` is done before it begins."""
    need("root")
    require(JOURNALD.exists(), f"{JOURNALD} is not there", "sudo make test")
    file = tmp_path / "bayop.toml"
    file.write_text(
        f'[service.web]\nagent = "unix:{tmp_path}/nobody"\nlatency = "true"\nslo = "p99<1ms"\n', encoding="utf-8"
    )
    run = shlex.join([sys.executable, "-c", IN_JOURNAL, str(file)])
    script = f"""
        set -eu
        mount -t tmpfs run /run
        mkdir -p /run/systemd/journal /run/log/journal
        {JOURNALD} &
        until [ -S /run/systemd/journal/socket ] && [ -S /run/systemd/journal/stdout ]; do sleep 0.1; done
        {then}
        {run} &
        ours() {{ journalctl --directory="$(echo /run/log/journal/*)" SYSLOG_IDENTIFIER=bayop "$@"; }}
        until ours | grep -q again.in; do sleep 0.1; done
        kill $!
        wait $! || true
        until ours | grep -q SIGTERM; do sleep 0.1; done
        ours -o json
    """
    unshare = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "timeout", str(WITHIN_S)]
    ended = subprocess.run([*unshare, "sh", "-c", script], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


def test_entries_have_the_fields_of_their_events(tmp_path: Path) -> None:
    entries = journal_of(tmp_path, "true")
    trouble = next(entry for entry in entries if entry.get("BAYOP_EVENT") == "trouble")
    assert (trouble["BAYOP_SERVICE"], trouble["BAYOP_CAUSE"], trouble["PRIORITY"]) == ("web", "agent", "4")
    assert trouble["MESSAGE"].startswith("web: ")
    assert trouble["_TRANSPORT"] == "journal"


def test_where_the_socket_is_gone_the_stream_has_the_lines_and_their_priorities(tmp_path: Path) -> None:
    entries = journal_of(tmp_path, "rm /run/systemd/journal/socket")
    trouble = next(entry for entry in entries if entry["PRIORITY"] == "4")
    assert trouble["MESSAGE"].startswith("web: ")
    assert trouble["_TRANSPORT"] == "stdout"
