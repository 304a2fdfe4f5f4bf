"""The flags with which several verbs reach an agent."""

from __future__ import annotations

import argparse
import getpass
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Final

from bayop.cli.flags import arguments
from bayop.errors import DriftError, InputError
from bayop.live.agent.address import PORT, SOCKET, Credentials, HttpsAddress, parse_address
from bayop.live.agent.client import AgentClient

if TYPE_CHECKING:
    from bayop.live.target import AgentTarget

TLS_FLAGS: Final = ("agent_cert", "agent_key", "agent_ca")


def add_agent(parser: argparse.ArgumentParser, meaning: str) -> None:
    """`--agent` with the flags of mutual TLS."""
    parser.add_argument(
        "--agent",
        type=arguments.reader(_address, "--agent"),
        metavar="ADDRESS",
        help=f"{meaning}, such as {SOCKET} or https://HOST:{PORT}",
    )
    add_tls(parser)


def add_tls(parser: argparse.ArgumentParser) -> None:
    """The three files of mutual TLS."""
    for flag, meaning in (
        ("--agent-cert", "our certificate"),
        ("--agent-key", "its private key"),
        ("--agent-ca", "the CA that signed the agent's certificate"),
    ):
        parser.add_argument(
            flag, type=arguments.reader(arguments.path, flag), metavar="FILE", help=f"https agents: {meaning} (PEM)"
        )


def client_of(address: str, args: argparse.Namespace) -> AgentClient:
    """The agent at an address, with the credentials that the flags name.

    Raises:
        InputError: the address can't be read, or its credentials are incomplete, superfluous or unusable.
    """
    files = [getattr(args, flag) for flag in TLS_FLAGS]
    parsed = parse_address(address)
    is_mutual = any(files) or isinstance(parsed, HttpsAddress)
    if is_mutual and not all(files):
        missing = next(flag for flag, file in zip(TLS_FLAGS, files, strict=True) if not file)
        raise InputError(
            "mutual TLS must have --agent-cert, --agent-key and --agent-ca",
            wrong=f"{_spelt(missing)} is missing",
            hint=f"add {_spelt(missing)}",
        )
    return AgentClient.at(parsed, Credentials(*files) if any(files) else None)


def check_needs_agent(args: argparse.Namespace) -> None:
    """Refuses credentials for an agent that nobody asked for.

    Raises:
        InputError: there are some without `--agent`.
    """
    for flag in TLS_FLAGS:
        if args.agent is None and getattr(args, flag) is not None:
            raise InputError(
                wrong=f"{_spelt(flag)} is for an agent, and none is named",
                place=_spelt(flag),
                hint="add --agent ADDRESS",
            )


def holder(verb: str) -> str:
    """How the agent names us to others who want the lease."""
    return f"bayop {verb} by {_user()}@{socket.gethostname()} (pid {os.getpid()})"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user, say, whom nothing gives a name
        return f"uid {os.getuid()}"


@contextmanager
def reporting(opening: AbstractContextManager[AgentTarget]) -> Iterator[AgentTarget]:
    """A live machine whose settings come back when the block ends, but for a result that is kept.

    Says which of both it is where an error or a signal has ended the block.
    """
    target: AgentTarget | None = None
    ended_by: BaseException | None = None
    try:
        with opening as target:
            try:
                yield target
            except BaseException as error:
                ended_by = error
                raise
    except BaseException as error:
        # Another error is that of putting the machine back, and so may be a drift: each says what is in effect.
        # Who never had the lease has changed nothing, and does not know what is in effect.
        if target is not None and target.has_held and error is ended_by and not isinstance(error, DriftError):
            stays = f"the result stays applied: {target.undo} takes it back\n"
            sys.stderr.write(stays if target.undo else "the machine's own settings are back\n")
        raise


def _address(text: str) -> str:
    parse_address(text)
    return text


def _spelt(flag: str) -> str:
    return f"--{flag.replace('_', '-')}"
