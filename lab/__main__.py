"""The lab's command line: `python -m lab`."""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bayop.cli import report_error
from bayop.errors import BayopError, InputError
from lab.agent import Access, add_agent
from lab.build import build
from lab.files import Files
from lab.machine import Machine
from lab.qemu import Ports

EXAMPLES = """\
examples:
  python -m lab                                  a prompt on the server's console; Ctrl-A x switches it off
  python -m lab run 'ethtool -c eth0'            boot, run one command, switch off
  python -m lab --agent target/release/bayop-agent   with BayOp's agent inside
  python -m lab --program /usr/bin/perf=/usr/bin/perf \\
      --file /etc/lab/start=start.sh             with more inside; an executable /etc/lab/start is started
  python -m lab build                            build what is missing, boot nothing

`lab/install-packages` gets the Debian packages that it needs; lab/README.md says what is emulated.
"""
_BANNER = """
The server is up. From another terminal of this machine:
  memcached   127.0.0.1:{ports.memcached} (TCP), 127.0.0.1:{ports.memcached_udp} (UDP)
{agent}
/var/lib is a disk; it goes with the machine. `poweroff` or Ctrl-A x ends it.
"""
_AGENT = """\
  the agent   https://127.0.0.1:{port}, with these credentials:
              .venv/bin/bayop knobs --agent https://127.0.0.1:{port} \\
                {flags}"""
_NO_AGENT = "  no agent    127.0.0.1:{port} leads to its port, 9617 of the guest; --agent FILE brings one along"


def _placed(text: str) -> tuple[str, Path]:
    guest_path, equals, host_path = text.partition("=")
    if not equals or not guest_path.startswith("/"):
        raise InputError("a file must be given as /PLACE/IN/GUEST=FILE", value=text)
    return guest_path, _existing(Path(host_path))


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise InputError(wrong=f"cannot read {path}: no such file", value=str(path))
    return path


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m lab",
        description="Boot an emulated server: Debian's kernel, memcached, and room for the agent.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--file", action="append", default=[], metavar="GUEST=FILE", help="add a file; executable if FILE is"
    )
    parser.add_argument(
        "--program", action="append", default=[], metavar="GUEST=FILE", help="add a program with its shared libraries"
    )
    parser.add_argument(
        "--agent", metavar="FILE", type=Path, help="add BayOp's agent, started at boot; it may set every knob"
    )
    verbs = parser.add_subparsers(dest="verb", metavar="build | run COMMAND")
    verbs.add_parser("build", help="build what is missing")
    verbs.add_parser("run", help="boot, run one command, exit as it did").add_argument("command", metavar="COMMAND")
    return parser


def _progress(step: str) -> None:
    print(f"lab: {step}", file=sys.stderr)


def _console(files: Files, access: Access | None) -> int:
    with Machine(files=files, terminal=True, progress=_progress) as machine:
        # QEMU has put the terminal into raw mode: a line feed alone does not return.
        print(_banner(machine.ports, access).replace("\n", "\r\n"), end="", flush=True)
        machine.wait()
    return 0


def _banner(ports: Ports, access: Access | None) -> str:
    agent = _NO_AGENT if access is None else _AGENT
    flags = "" if access is None else shlex.join(access.flags())
    return _BANNER.format(ports=ports, agent=agent.format(port=ports.agent, flags=flags))


def _run(files: Files, command: str) -> int:
    with Machine(files=files, progress=_progress) as machine:
        result = machine.run(command, timeout_s=3600, check=False)
    sys.stdout.buffer.write(result.stdout_bytes)
    sys.stderr.write(result.stderr)
    return result.exit_code


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        files = Files()
        for guest_path, path in map(_placed, options.file):
            files.add(guest_path, path, mode=path.stat().st_mode & 0o777)
        for guest_path, path in map(_placed, options.program):
            files.add_program(guest_path, path)
        if options.verb == "build":
            build(_progress)
            return 0
        with tempfile.TemporaryDirectory(prefix="bayop-lab-agent-") as folder:
            access = None if options.agent is None else add_agent(files, _existing(options.agent), Path(folder))
            return _run(files, options.command) if options.verb == "run" else _console(files, access)
    except BayopError as error:
        report_error(error)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
