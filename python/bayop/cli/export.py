"""`bayop export`: what is held, or any setting, as others write it: TuneD, a shell script, systemd."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bayop.catalogue import check_known
from bayop.cli.flags import agent as agent_flags
from bayop.cli.flags import arguments
from bayop.cli.terminal.new_files import CONFIGURATION, create
from bayop.cli.terminal.output import console, literal, print_json
from bayop.domains import Value
from bayop.errors import BayopError, InputError, unwritable
from bayop.live.agent.address import SOCKET
from bayop.space import Setting
from bayop.units import parse_quantity, unit_of

EXAMPLE: Final = """\
  bayop export --as script
  bayop export /etc/bayop/bayop.toml cache --as tuned --device eth0 --out /etc/tuned/cache
  bayop export nic.rx_usecs@eth0=100us cpu.freq_mhz=2.1GHz --as script --out setting.sh
  bayop export nic.rx_usecs@eth0=100 --as networkd --out 50-bayop-eth0.link
"""

FORMATS: Final = ("tuned", "script", "networkd")
_NUMBER: Final = re.compile(r"[+-]?\.?\d")
"""How numbers begin, and words don't."""
_LAST: Final = 100_000
"""So many windows are looked through for one that was held."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument(
        "what",
        nargs="*",
        metavar="WHAT",
        help="KNOB=VALUE or KNOB@PLACE=VALUE, several; or the FILE of bayop run, or the state that it names, and the "
        "SERVICE whose held setting is meant (left out: what an agent holds)",
    )
    parser.add_argument(
        "--as",
        dest="form",
        choices=FORMATS,
        required=True,
        metavar="FORMAT",
        help="tuned: a profile of TuneD; script: a shell script that applies and undoes; networkd: a systemd.link file",
    )
    parser.add_argument("--device", metavar="DEVICE", help="the network device of knobs that name none, such as eth0")
    parser.add_argument(
        "--out",
        type=arguments.reader(arguments.path, "--out"),
        metavar="PATH",
        help="the file to write, for tuned the profile's folder; nothing is overwritten (left out: stdout)",
    )
    agent_flags.add_agent(parser, f"the agent to ask what it holds (default: {SOCKET}, this machine's)")
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Writes the setting as the format has it."""
    from bayop import _core
    from bayop.export import check_link, link, script, spell, tuned, unplaced

    (setting, service), spellings = _setting(args), _core.knob_spellings()
    if args.form == "networkd":
        check_link(setting, spellings)
    if service is not None and (knobs := unplaced(setting, spellings, args.device)):
        setting = _placed(setting, knobs, Path(args.what[0]), service)
    spelled = spell(setting, spellings, args.device)
    if args.form == "tuned":
        files = tuned(spelled)
    else:
        files = {args.form: script(spelled) if args.form == "script" else link(spelled)}
    if args.out is not None:
        _write(args.out, files, in_folder=args.form == "tuned")
    if args.json:
        out = None if args.out is None else str(args.out)
        print_json({"event": "exported", "as": args.form, "setting": dict(spelled.setting), "out": out, "files": files})
    elif args.out is not None:
        console().print(literal(f"{args.out}: {spelled.summary}"))
    elif len(files) == 1:
        sys.stdout.writelines(files.values())
    else:
        raise InputError(
            "such a profile must have a folder",
            wrong=f"it is {' and '.join(files)}",
            place="--as tuned",
            hint="--out /etc/tuned/NAME",
        )
    return 0


def _write(out: Path, files: Mapping[str, str], *, in_folder: bool) -> None:
    hint = "--out PATH for another"
    if not in_folder:
        create(dict.fromkeys([out], *files.values()), mode=CONFIGURATION, hint=hint)
        return
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(out, error, place="--out") from error
    create({out / name: text for name, text in files.items()}, mode=CONFIGURATION, hint=hint)


def _setting(args: argparse.Namespace) -> tuple[Setting, str | None]:
    """The setting that is meant, and the service that held it where a file says so.

    Raises:
        InputError: nothing is held, or the words are neither settings nor a file and a service.
    """
    words: list[str] = args.what
    if words and args.agent is not None:
        raise InputError(wrong="--agent says what an agent holds, and another setting is named", place="--agent")
    agent_flags.check_needs_agent(args)
    if not words:
        address = args.agent or SOCKET
        held = agent_flags.client_of(address, args).status().held
        if not held:
            hint = "name a setting, such as nic.rx_usecs@eth0=100, or the file of bayop run and a service"
            raise InputError(wrong=f"the agent at {address} holds nothing", value=address, hint=hint)
        return {each.knob: each.requested for each in held}, None
    if all("=" in word for word in words):
        return _assigned(words), None
    if len(words) > 2 or any("=" in word for word in words):
        rule = "it must be settings, or a file and a service"
        raise InputError(rule, value=" ".join(words), place="WHAT", hint="see bayop export --help")
    return _remembered(Path(words[0]), words[1] if len(words) == 2 else None)


def _assigned(words: list[str]) -> Setting:
    setting: dict[str, Value] = {}
    for word in words:
        knob, value = _assignment(word)
        if knob in setting:
            rule, wrong = "a setting must name each knob of a place once", f"{knob} comes twice"
            raise InputError(rule, wrong=wrong, value=word, place="WHAT", hint="leave one of the two out")
        setting[knob] = value
    return setting


def _assignment(word: str) -> tuple[str, Value]:
    knob, _, text = word.partition("=")
    if not (knob and text):
        raise InputError("a setting must be KNOB=VALUE", value=word, place="WHAT", hint="such as nic.rx_usecs@eth0=100")
    id_ = knob.partition("@")[0]
    check_known(id_, place="WHAT")
    if not _NUMBER.match(text):
        return knob, text
    try:
        return knob, parse_quantity(text, unit_of(id_) or "")
    except InputError as error:
        raise error.at(knob) from error


def _remembered(file: Path, service: str | None) -> tuple[Setting, str]:
    """What a service held last, and its name; the only one that is remembered needs none."""
    from bayop.daemon.file import state_of
    from bayop.state.records import read

    state = state_of(file) if file.suffix == ".toml" else file
    rows = read(state, "window", service=service, last=_LAST)
    names = sorted({row["service"] for row in rows})
    if service is None and len(names) > 1:
        raise InputError(
            "one service must be named", wrong=f"{file} has {', '.join(names)}", place="WHAT", hint=f"add {names[0]}"
        )
    held = next((row for row in reversed(rows) if row["phase"] == "hold" and row["setting"]), None)
    if held is None:
        wrong = f"nothing was ever held for {service or 'a service of this file'}"
        raise InputError(wrong=wrong, place=str(file), hint=f"bayop history {file}")
    return dict(held["setting"]), held["service"]


def _placed(setting: Setting, knobs: list[str], file: Path, service: str) -> Setting:
    """The setting with the places of some knobs: those in which the service's agent holds them.

    They stay without where it can't be asked, and where another service has the same agent: that knows what it holds,
    and not for whom.
    """
    from bayop.daemon.file import DaemonFile
    from bayop.live.search import client_of

    try:
        of = {each.name: each.live for each in DaemonFile.read(file).services} if file.suffix == ".toml" else {}
        own = of.pop(service, None)
        if own is None or any(other.agent == own.agent for other in of.values()):
            return setting
        held = [each.knob for each in client_of(own).status().held if each.state == "held"]
    except BayopError:
        return setting
    places = {knob: [in_place for in_place in held if in_place.partition("@")[0] == knob] for knob in knobs}
    return {in_place: value for knob, value in setting.items() for in_place in places.get(knob) or [knob]}
