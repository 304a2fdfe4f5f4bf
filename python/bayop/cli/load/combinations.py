"""Which flags of `bayop load` go together."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Final

from bayop.cli.defaults import typed
from bayop.errors import InputError

SHAPES: Final = ("twitter", "twitter-cluster1", "twitter-cluster2")


def check_combination(args: argparse.Namespace) -> None:
    """Refuses flags that contradict each other or say nothing, and those without which there is nothing to send.

    A default of the user's is not refused: where it is of no use, it is passed over.

    Raises:
        InputError: such a flag was given, or is missing.
    """
    own = typed(args)
    _check_company(args, own)
    if not args.servers:
        raise InputError(wrong="no server is named", place="--server", hint="-s HOST[:PORT]")
    _check_closed_loop(args, own)
    _check_load(args)
    _check_requests(args, own)


def _check_company(args: argparse.Namespace, own: argparse.Namespace) -> None:
    """Refuses flags that say nothing without another, which was left out, or beside another."""
    needs: dict[str, tuple[object, dict[str, object]]] = {
        "--curve": (args.curve, {"--peak": own.peak, "--hour": own.hour, "--hours": own.hours}),
        "--with-agent": (
            args.with_agent,
            {"-Q": own.measure_qps, "-C": own.measure_connections, "-D": own.measure_depth},
        ),
        "--tls": (args.tls, {"--cacert": own.authorities, "--insecure": own.insecure or None}),
    }
    for flag, (is_given, others) in needs.items():
        if (given := _given(others)) and not is_given:
            wrong = f"{given} was given without {flag}"
            raise InputError(
                f"{given} must go with {flag}", wrong=wrong, place=given, hint=f"add {flag}, or leave it out"
            )
    load, times, gaps = {"--qps": own.qps}, {"--time": own.duration_s}, {"--iadist": own.gaps}
    has_own: dict[str, tuple[object, dict[str, object], str]] = {
        "--scan": (args.scan, load, "a scan must have its own loads"),
        "--curve": (args.curve, load | times, "a curve must have its own loads and hours"),
        "--replay": (args.replay, load | gaps, "a replay must have its own times"),
        "--with-agent": (
            args.with_agent,
            {"--replay": args.replay},
            "several machines must send what a random process says",
        ),
        "--insecure": (args.insecure, {"--cacert": own.authorities}, "a certificate must be looked at, or not"),
    }
    for flag, (is_given, others, rule) in has_own.items():
        if (given := _given(others)) and is_given:
            wrong = f"both {given} and {flag} were given"
            raise InputError(rule, wrong=wrong, place=given, hint="leave out one of them")


def _check_closed_loop(args: argparse.Namespace, own: argparse.Namespace) -> None:
    """Refuses what a closed loop does not have, and what nothing else has."""
    if args.closed_loop and (own.qps or args.scan or args.search or args.curve or args.replay):
        raise InputError(
            "a closed loop must not have an offered load",
            wrong="both a load and --closed-loop were given",
            place="--closed-loop",
            hint="leave it out",
        )
    is_closed = args.closed_loop or (args.qps == 0.0 and not args.search)
    if own.think_time_s is not None and not is_closed:
        raise InputError(
            "clients that think must be those of a closed loop",
            wrong="--think-time was given without --closed-loop",
            place="--think-time",
            hint="--closed-loop --think-time 10ms",
        )
    if is_closed and own.gaps and args.think_time_s is None:
        raise InputError(
            "gaps must be those of an open loop, or of clients that think",
            wrong=f"both --iadist and {'--closed-loop' if args.closed_loop else '--qps 0'} were given",
            place="--iadist",
            hint="--think-time 10ms",
        )


def _check_load(args: argparse.Namespace) -> None:
    """Refuses a load of which nobody says how high it is."""
    if args.curve in SHAPES and args.peak is None:
        raise InputError(
            "a built-in curve must be scaled to a peak",
            wrong="--peak is missing",
            place="--peak",
            hint="--peak 100kqps",
        )
    loads = (args.replay, args.curve, args.scan, args.search, args.closed_loop, args.loadonly)
    if args.qps is None and not any(loads):
        raise InputError(
            wrong="no load is given", place="--qps", hint="-q 50kqps, --closed-loop, --scan, --search or --curve"
        )


def _check_requests(args: argparse.Namespace, own: argparse.Namespace) -> None:
    """Refuses what servers of the protocol are not asked, and what a file of requests says beside it."""
    from bayop.load.plan import HTTP, STORES

    stores, rule = sorted(STORES), "keys, values and updates must be those of servers that store"
    records = {"--workload": own.workload, "--keysize": own.keysize, "--update": own.update}
    _check_protocol(args, stores, records, rule)
    _check_protocol(args, [*stores, "echo"], {"--valuesize": own.valuesize}, rule)
    path, query = {"--path": own.path if own.path != "/" else None}, {"--query": own.query}
    content = {"--method": own.method, "--body": own.body}
    mixes = (*HTTP, "postgresql")
    _check_protocol(args, mixes, {"--mix": own.mix}, "a mix must be of HTTP requests or of PostgreSQL's queries")
    if args.mix is not None and args.protocol in mixes and (given := _given(path | content | query)):
        rule = "what is asked must stand in the file of --mix alone"
        raise InputError(rule, wrong=f"{given} was given with --mix", place=given, hint="leave it out")
    rule = "paths, headers, methods and bodies must be those of HTTP requests"
    _check_protocol(args, HTTP, path | {"--header": own.headers or None} | content, rule)
    who = {"--user": own.user, "--database": own.database, "--password-file": own.password_file}
    _check_protocol(args, ("postgresql",), query | who, "queries and who asks them must be PostgreSQL's")


def _check_protocol(args: argparse.Namespace, protocols: Sequence[str], flags: Mapping[str, object], rule: str) -> None:
    """Refuses flags that only some protocols have, where the protocol is another."""
    if (given := _given(flags)) and args.protocol not in protocols:
        wrong = f"{given} was given with --protocol {args.protocol}"
        raise InputError(rule, wrong=wrong, place=given, hint=f"--protocol {protocols[0]}")


def _given(flags: Mapping[str, object]) -> str | None:
    """The first of some flags that has a value."""
    return next((flag for flag, value in flags.items() if value is not None), None)
