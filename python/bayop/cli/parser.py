"""The parser of the command line: every verb, and errors in this project's words."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final, NoReturn

from bayop.cli.flags.actions import add_command
from bayop.cli.terminal import exit_codes
from bayop.errors import InputError, guess

VERBS: Final[dict[str, str]] = {
    "demo": "play a day of changing load on the digital twin and write a report about it",
    "tune": "search for the setting that meets the SLO for the least power; with --keep, leave it applied",
    "run": "keep live services at their sweet spot: search, hold, watch, and search again when the load changes",
    "history": "list what bayop run has done: searches, windows, events",
    "pause": "give machines of bayop run their own settings back, and search and hold nothing until resume",
    "resume": "let services of bayop run go on after pause",
    "trigger": "have a service of bayop run search now",
    "reload": "have bayop run read its file anew; a service whose table has not changed goes on",
    "export": "write what is held as others do: a profile of TuneD, a shell script with an undo, a systemd.link file",
    "forget": "have a service of bayop run forget what its settings have measured, and search from nothing",
    "explain": "say why a service of bayop run holds its setting, and what other settings and SLOs would change",
    "doctor": "say what a machine lets BayOp control and measure, and calibrate its NIC",
    "init": "write a first agent.toml and live.toml for this machine, with comments that explain each choice",
    "status": "say what an agent holds on its machine, for whom and since when; or how services of bayop run stand",
    "restore": "put a machine's own settings back, whoever changed them: the undo of tune --keep",
    "knobs": "list what BayOp can set, on any machine or on one",
    "live": "sweep and search NAPI deferral under a real memcached, in namespaces of this machine",
    "day": "play a day of changing load on a real memcached, in namespaces of this machine, with and without bayop run",
    "app": "list, install and start real services to load and to tune: memcached, nginx, your own",
    "libos": "boot the library OS, a server without an operating system, and count what a request costs there",
    "load": "load a server in an open loop and measure the latency that its clients see",
    "probe": "measure what a service's clients see, from a few requests beside the production traffic",
    "twin": "run the digital twin, compare it with measurements, and fit it to them",
    "sweep": "measure every setting of a design, in several processes or on a Ray cluster, into a study",
    "study": "look at tables of trials, join them, and bring them into another format",
    "report": "say what studies show: fronts, best settings, savings, with figures on a page",
    "fit": "fit the published model of latency and energy, and BayOp's own, to a study",
    "interrupts": "show what logs with one record per interrupt hold, and convert them",
    "idle": "compare governors of idle states on recorded and synthetic traces of idle periods",
    "carbon": "compare the carbon of a request on different machines and operating systems",
    "config": "show which flags have defaults of your own, and where each comes from",
    "completion": "print a script by which a shell completes verbs, flags and file names",
    "help": "show the help of a verb, or the schema of what it prints for programs",
    "claims": "recompute every quantitative claim of the papers from their raw data and the twin",
}

EXAMPLE: Final = """\
  bayop demo
  bayop tune --load 400kqps --slo 'p99<500us'
  bayop twin run --load 400kqps
"""


def build_parser(arguments: Sequence[str], *, every_verb: bool = False) -> argparse.ArgumentParser:
    """The parser; of all verbs only the one in `arguments` is loaded, unless every one is asked for."""
    parser = _Parser(
        prog="bayop",
        description="Finds and holds the setting that meets a latency SLO for the least power.",
        epilog=f"examples:\n{EXAMPLE}\n{exit_codes.help_text()}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    own_verb = verb_of(arguments)
    for verb, summary in VERBS.items():
        module = import_module(f"bayop.cli.{verb}") if every_verb or verb == own_verb else None
        verb_parser = add_command(verbs, verb, summary, module)
        if module:
            verb_parser.set_defaults(run=module.run)
    return parser


def verb_of(arguments: Sequence[str]) -> str | None:
    """The verb among a command's words; None when there is none."""
    return next((argument for argument in arguments if not argument.startswith("-")), None)


class _Version(argparse.Action):
    """Looks the version up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from bayop import __version__

        sys.stdout.write(f"{parser.prog} {__version__}\n")
        parser.exit()


_NEGATIVE: Final = re.compile(r"-\.?\d")
_NO_VALUE: Final = re.compile(r"argument (?P<flag>\S+): expected (?:one|at least one) argument")


def _name(names: Sequence[str]) -> str:
    """What a flag of several names is called in errors: its first long one."""
    return next((name for name in names if name.startswith("--")), names[-1])


class _Parser(argparse.ArgumentParser):
    """argparse with this project's error messages."""

    def __init__(self, *args: Any, **keywords: Any) -> None:  # noqa: ANN401 -- argparse's own
        super().__init__(*args, **keywords)
        # To argparse, -5 is a value and -5k or -1% a flag that it does not know; the flag's own reader says what rule
        # such a quantity breaks.
        self._negative_number_matcher = _NEGATIVE

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:  # noqa: ANN401
        """As argparse does, but the parser that meets an unknown argument refuses it, and not its parents."""
        result, unknown = super().parse_known_args(args, namespace)
        if unknown:
            suggestion = guess(unknown[0], self._option_string_actions, cutoff=0.7)
            raise InputError(
                wrong=f"{unknown[0]!r} is no argument of {self.prog}",
                value=unknown[0],
                place=self.prog,
                hint=self._see(suggestion),
            )
        return result, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:  # noqa: ANN401
        if action.choices is None or value in action.choices:
            return
        choices = [str(choice) for choice in action.choices]
        place = _name(action.option_strings) if action.option_strings else str(action.metavar or action.dest)
        if suggestion := guess(str(value), choices):
            raise InputError(wrong=f"there is no {value!r}", value=value, place=place, hint=self._see(suggestion))
        raise InputError(f"it must be one of {', '.join(choices)}", value=value, place=place, hint=self._see())

    def error(self, message: str) -> NoReturn:
        if match := _NO_VALUE.fullmatch(message):
            flag = _name(match["flag"].split("/"))
            raise InputError(wrong=f"{flag} has no value", place=flag, hint=self._see())
        raise InputError(wrong=message, hint=self._see())

    def _see(self, suggestion: str | None = None) -> str:
        return " ".join(filter(None, (suggestion, f"see {self.prog} --help")))
