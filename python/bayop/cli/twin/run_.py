"""`bayop twin run`: what the twin says about settings of a server under a load."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from bayop.cli.flags import arguments
from bayop.cli.terminal.output import console, new_table, print_json
from bayop.cli.twin import flags
from bayop.domains import Value
from bayop.errors import InputError
from bayop.experiments.idle.record import is_overloaded
from bayop.measurement import Measurement
from bayop.slo import Slo, quantile_of
from bayop.space import AUTO, Setting, Space, default_setting, format_value
from bayop.units import format_qps, round_significant

if TYPE_CHECKING:
    from rich.table import Table

    from bayop import _core

EXAMPLE: Final = """\
  bayop twin run --load 400kqps
  bayop twin run --profile ebbrt-silo --load 100kqps --slo 'p99<500us' \\
      --setting nic.rx_usecs=100us,cpu.freq_mhz=2.3GHz
  bayop twin run --profile linux-netpipe --message 64KB --setting nic.rx_usecs=14us
  bayop twin run --load 100kqps --setting auto --setting idle.max_latency_us=10us,power.cap_w=40W
  bayop twin run --polling --load 400kqps --setting cpu.freq_mhz=1.5GHz
  bayop twin run --idle-governor bayop --wake-balancer yawn --load 50kqps --setting cpu.freq_mhz=2.9GHz
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument(
        "--profile", default="linux-memcached", metavar="NAME|FILE", help="the server (default: linux-memcached)"
    )
    arguments.add_load(parser, required=False)
    parser.add_argument(
        "--message",
        type=arguments.reader(flags.message_bytes, "--message"),
        metavar="SIZE",
        help="closed loop: size of the message that goes back and forth, such as 64B or 512KB (65,536 B is 64KB)",
    )
    parser.add_argument(
        "--polling",
        action="store_true",
        help="cores spin on their queues instead of taking interrupts, as with kernel bypass or busy polling",
    )
    parser.add_argument(
        "--idle-governor",
        metavar="NAME",
        help="what chooses idle states, such as menu, teo, yawn or bayop; docs/twin.md lists them (default: as the "
        "profile says)",
    )
    parser.add_argument(
        "--wake-balancer",
        metavar="NAME",
        help="where awakened requests are served: yawn gathers them on cores that operate, none leaves them where "
        "their threads are (default: as the profile says)",
    )
    parser.add_argument(
        "--setting",
        action="append",
        metavar="KNOB=VALUE,...",
        help="such as nic.rx_usecs=50us,cpu.freq_mhz=2.1GHz; a knob that is not named stays auto, and auto alone is "
        "the default policy; docs/twin.md lists the knobs (repeatable; default: auto)",
    )
    parser.add_argument(
        "--slo", type=arguments.reader(Slo.parse, "--slo"), metavar="SLO", help="say which settings meet it"
    )
    flags.add_simulation(parser, requests=200_000)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Simulates and prints; 1 when there is an SLO and no setting meets it."""
    from bayop.twin.profile_library import load_profile, polling
    from bayop.twin.target import check_load, profile_space
    from bayop.twin.windows import quantities_of, simulate, simulation_run

    if args.polling and args.idle_governor is not None:
        raise InputError(
            "a server that polls must have no idle governor",
            wrong="both --polling and --idle-governor were given",
            place="--idle-governor",
            hint="leave out one of them",
        )
    profile = polling(load_profile(args.profile)) if args.polling else load_profile(args.profile)
    profile = _with_word(profile, "os.idle_governor", args.idle_governor, "--idle-governor")
    profile = _with_word(profile, "os.wake_balancer", args.wake_balancer, "--wake-balancer")
    quantities = quantities_of(profile)
    missing = [] if args.slo is None else [name for name in args.slo.quantities if name not in quantities]
    if missing:
        hint = f"it shows {', '.join(sorted(q for q in quantities if quantile_of(q) is not None))}"
        raise InputError(wrong=f"the twin does not measure {missing[0]}", value=missing[0], place="--slo", hint=hint)
    try:
        load = check_load(profile, qps=args.load, message_bytes=args.message)
    except InputError as error:
        own, other = ("--message", "--load") if profile.closed_loop else ("--load", "--message")
        raise error.at(own if {"--message": args.message, "--load": args.load}[other] is None else other) from error
    texts = args.setting or [AUTO]
    space = arguments.reader(partial(profile_space, profile), "--setting")(_named_knobs(texts))
    settings = [parse_setting(space, text) for text in texts]
    what = f"{load:g} B messages" if profile.closed_loop else f"{load:g} requests/s"
    runs = [simulation_run(profile, s, load=load, requests=args.requests, seed=args.seed) for s in settings]
    windows = simulate(profile, runs, threads=args.threads)
    if args.json:
        for setting, window in zip(settings, windows, strict=True):
            print_json(_event(setting, window, load, args.slo))
    else:
        console().print(f"[bold]{profile.name}[/bold] at {what}")
        console().print(_table(settings, windows, args.slo))
        if not profile.closed_loop and any(is_overloaded(load, w["qps"], w["duration_s"]) for w in windows):
            console().print(
                "Overloaded where less is served than offered: there the queues grow for as long as that lasts."
            )
    good = args.slo is None or any(window.meets(args.slo) for window in windows)
    return 0 if good else 1


def _with_word(profile: _core.Profile, key: str, word: str | None, flag: str) -> _core.Profile:
    """The profile with another word at a key, if a flag says one."""
    from bayop.twin.profile_library import with_values

    try:
        return profile if word is None else with_values(profile, {key: word})
    except InputError as error:
        raise error.but(place=flag) from error


def parse_setting(space: Space, text: str) -> Setting:
    """Reads `nic.rx_usecs=50us,cpu.freq_mhz=2.1GHz`; knobs that are not named stay `auto`.

    Raises:
        InputError: no assignment, an unknown knob or one that comes twice, or a value outside its domain.
    """
    setting: dict[str, Value] = {}
    for part in () if text == AUTO else text.split(","):
        knob_id, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            hint = "for example nic.rx_usecs=50us,cpu.freq_mhz=2.1GHz"
            raise InputError(
                "a setting must be a list of KNOB=VALUE, or auto", value=text, place="--setting", hint=hint
            )
        if knob_id in setting:
            raise InputError("a setting must name each knob once", value=text, place="--setting")
        try:
            setting[knob_id] = space[knob_id].parse(value)
        except InputError as error:
            raise error.at("--setting") from error
    return space.check({**default_setting(space), **setting})


def _named_knobs(texts: Sequence[str]) -> list[str]:
    """The ids left of the equals signs."""
    return [part.partition("=")[0].strip() for text in texts for part in text.split(",") if "=" in part]


def _event(setting: Setting, window: Measurement, load: float, slo: Slo | None) -> dict[str, object]:
    event: dict[str, object] = {
        "event": "window",
        "setting": dict(setting),
        "message_bytes" if "roundtrip_us" in window.quantities else "qps_offered": load,
        "measured": {name: round_significant(value) for name, value in sorted(window.quantities.items())},
        "cut_short": window.cut_short,
    }
    return event if slo is None else event | {"meets_slo": window.meets(slo)}


def _table(settings: Sequence[Setting], windows: Sequence[Measurement], slo: Slo | None) -> Table:
    table = new_table()
    columns = _CLOSED_LOOP if "roundtrip_us" in windows[0].quantities else _OPEN_LOOP
    for column in (*settings[0], *columns):
        table.add_column(column, justify="right")
    if slo is not None:
        table.add_column(str(slo), justify="right")
    for setting, window in zip(settings, windows, strict=True):
        verdict = [] if slo is None else [_verdict(slo, window)]
        table.add_row(
            *(format_value(knob_id, value) for knob_id, value in setting.items()),
            *(show(window) for show in columns.values()),
            *verdict,
        )
    return table


# What the tables show, by the head of its column.
_OPEN_LOOP: Final[Mapping[str, Callable[[Measurement], str]]] = {
    "served": lambda m: f"{format_qps(m['qps'], 4)}/s",
    "power": lambda m: f"{m['power_w']:.1f} W",
    "p50": lambda m: _latency(m, "p50_us"),
    "p99": lambda m: _latency(m, "p99_us"),
    "util.": lambda m: f"{m['utilization']:.2f}",
    "int/s": lambda m: f"{m['interrupts_per_s']:.0f}",
}
_CLOSED_LOOP: Final[Mapping[str, Callable[[Measurement], str]]] = {
    "round trip": lambda m: f"{m['roundtrip_us']:.1f} us",
    "goodput": lambda m: f"{m['goodput_mibit_s']:.0f} Mibit/s",
    "power": lambda m: f"{m['power_w']:.1f} W",
    "energy/round trip": lambda m: f"{1e3 * m['energy_j'] / m['roundtrips']:.3f} mJ",
    "util.": lambda m: f"{m['utilization']:.2f}",
    "int/round trip": lambda m: f"{m['interrupts_per_s'] * m['roundtrip_us'] * 1e-6:.2f}",
}


def _latency(window: Measurement, name: str) -> str:
    return f"{'>' if window.censored else ''}{window[name]:.0f} us"


def _verdict(slo: Slo, window: Measurement) -> str:
    return "[green]met[/green]" if window.meets(slo) else "[red]broken[/red]"
