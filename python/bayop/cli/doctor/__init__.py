"""`bayop doctor`: what a machine lets BayOp control and measure, what to do about the rest, and what can run there."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bayop import _core
from bayop.cli.doctor import bundle, calibrate
from bayop.cli.doctor import exercise as doctor_exercise
from bayop.cli.flags import agent as agent_flags
from bayop.cli.flags import arguments
from bayop.cli.terminal import exit_codes
from bayop.cli.terminal.output import console, literal, new_table, print_json
from bayop.errors import InputError, unreadable
from bayop.live.agent.address import SOCKET
from bayop.live.agent.client import AgentClient
from bayop.live.agent.messages import Finding
from bayop.live.agent.transport import UnreachableError
from bayop.machine.verdict import Ability, AgentView, judge_live, judge_offline, judge_tune

EXAMPLE: Final = """\
  bayop doctor
  bayop doctor --agent unix:/run/bayop/agent.sock --json
  bayop doctor --root tests/machines/kvm-virtio.tree
  bayop doctor --bundle my-server.tree
  bayop doctor --exercise --yes
  bayop doctor --calibrate nic --agent https://web1:9617 --device eth0 --send web1:9 \\
      --agent-cert brain.pem --agent-key brain.key --agent-ca ca.pem
"""

_LOOK: Final = {"ok": "[green]ok[/green]", "note": "note", "missing": "[yellow]missing[/yellow]",
                "blocker": "[bold red]blocker[/bold red]"}  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    agent_flags.add_agent(parser, "examine this agent's machine instead of this one")
    add_root(parser)
    arguments.add_json(parser)
    bundle.add_arguments(parser)
    doctor_exercise.add_arguments(parser)
    calibrate.add_arguments(parser)


def add_root(parser: argparse.ArgumentParser) -> None:
    """`--root`."""
    parser.add_argument(
        "--root",
        type=arguments.reader(arguments.path, "--root"),
        metavar="PATH",
        help="a recorded machine instead of this one: a folder with its sys and proc, or a file of doctor --bundle",
    )


def run(args: argparse.Namespace) -> int:
    """Prints what was found and what can run; 4 when nothing can that needs a real machine."""
    agent_flags.check_needs_agent(args)
    calibrate.check_flags(args)
    _check_one_act(args)
    if args.agent is not None and args.root is not None:
        raise InputError("a recorded machine must have no agent", wrong="both --agent and --root", place="--root")
    if args.calibrate is not None:
        return calibrate.run(args)
    if args.exercise:
        return doctor_exercise.run(args)
    if args.bundle is not None:
        with recording(args.root) as root:
            return bundle.run(args, root)
    findings, abilities = _examine(args)
    can_live = any(ability.can for ability in abilities if ability.live)
    if args.json:
        for finding in findings:
            print_json(_event(finding))
        print_json(
            {
                "event": "verdict",
                "live": can_live,
                "verbs": [{"verb": verb} | _verb(ability) for ability in abilities for verb in ability.verbs],
            }
        )
    else:
        _show(findings, abilities)
    return exit_codes.DONE if can_live else exit_codes.UNSUPPORTED


def _check_one_act(args: argparse.Namespace) -> None:
    """Refuses flags that ask for different acts.

    Raises:
        InputError: there are two of them, or one that its act does not have.
    """
    acts = [flag for flag in ("calibrate", "exercise", "bundle") if getattr(args, flag)]
    if len(acts) > 1:
        raise InputError("the doctor must do one thing at a time", wrong=f"both --{acts[0]} and --{acts[1]}")
    if args.yes and not args.exercise:
        raise InputError("--yes must come with --exercise", wrong="--yes has nothing to answer", place="--yes")
    if args.root is not None and (args.exercise or args.calibrate):
        raise InputError("a recorded machine must not be written", wrong=f"both --root and --{acts[0]}", place="--root")


@contextmanager
def recording(root: Path | None) -> Iterator[Path | None]:
    """The folder of a recorded machine; a file of one is unpacked for as long as this lasts.

    Raises:
        InputError: there is nothing, or the file is no recorded machine.
    """
    if root is None or root.is_dir():
        yield root
        return
    try:
        text = root.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(root, error, place="--root") from error
    with TemporaryDirectory(prefix="bayop-machine-") as folder:
        try:
            _core.unpack_machine(text, folder)
        except _core.Error as error:
            place = f"{root}, {error.place}" if error.place else str(root)
            raise InputError.of(error).but(place=place) from error
        yield Path(folder)


def _examine(args: argparse.Namespace) -> tuple[Sequence[Finding], list[Ability]]:
    """What is found on the machine that the flags name, and what can run there."""
    if args.root is not None:
        with recording(args.root) as root:
            findings = look(root)
        return findings, [judge_tune(findings, None), judge_offline()]
    if args.agent is not None:
        client = agent_flags.client_of(args.agent, args)
        findings, view = client.doctor(), AgentView(client.status(), client.knobs())
        return findings, [judge_tune(findings, view), judge_offline()]
    findings, agent = _this_machine()
    return findings, [judge_tune(findings, agent), judge_live(_missing_for_live()), judge_offline()]


def _this_machine() -> tuple[Sequence[Finding], AgentView | str]:
    """By its agent where one answers: it may read what others may not, and knows its [power]."""
    why = "the agent reads sensors and applies settings"
    client = AgentClient.at(SOCKET)
    try:
        view = AgentView(client.status(), client.knobs())
        findings = client.doctor()
    except UnreachableError as error:
        return (*look(None), Finding("agent", "missing", error.message, why, error.hint)), error.message
    return (*findings, Finding("agent", "ok", f"{SOCKET}, mode {view.status.mode}", why, None)), view


def look(root: Path | None) -> Sequence[Finding]:
    """What the doctor finds on this machine, or on a recorded one."""
    return [Finding(**finding) for finding in _core.examine(root=root)]


def _missing_for_live() -> str | None:
    from bayop.experiments.rig.veth import missing

    reason = missing(["memcached"])
    if reason is None and shutil.which("bayop-agent") is None:
        return "bayop-agent is not on the path (make live builds and names it)"
    return reason


def _event(finding: Finding) -> dict[str, object]:
    return {
        "event": "finding",
        "check": finding.check,
        "status": finding.status,
        "found": finding.found,
        "why": finding.why,
        "remedy": finding.remedy,
    }


def _verb(ability: Ability) -> dict[str, object]:
    return {
        "can": ability.can,
        "live": ability.live,
        "reasons": list(ability.reasons),
        "remarks": list(ability.remarks),
    }


def _show(findings: Sequence[Finding], abilities: Sequence[Ability]) -> None:
    table = new_table()
    table.add_column("", no_wrap=True)
    for column in ("check", "found", "what to do"):
        table.add_column(column, overflow="fold")
    for finding in findings:
        advice = "" if finding.status == "ok" else finding.remedy or "no remedy is known"
        table.add_row(_LOOK[finding.status], literal(finding.check), literal(finding.found), literal(advice))
    screen = console()
    screen.print(table)
    for ability in abilities:
        style = "green" if ability.can else "bold red"
        screen.print(literal(f"{', '.join(ability.verbs)} {ability.sentence()}."), style=style)
    if not any(ability.can for ability in abilities if ability.live):
        screen.print("Nothing can run here yet that needs a real machine.", style="bold red")
