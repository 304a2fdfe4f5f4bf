"""Arguments that the actions of `bayop interrupts` share."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bayop.cli.flags import arguments
from bayop.errors import InputError
from bayop.units import parse_quantity

if TYPE_CHECKING:
    from bayop.interrupts.log import Log

_TSC_MHZ: Final = (1.0, 100_000.0)
_ENERGY_UNIT_UJ: Final = (0.01, 100_000.0)


def add_machine(parser: argparse.ArgumentParser) -> None:
    """`--tsc-mhz` and `--energy-unit-uj`: what a text of intlog and EbbRT's memory do not say about their machine."""
    parser.add_argument(
        "--tsc-mhz",
        type=arguments.reader(_tsc_mhz, "--tsc-mhz"),
        metavar="MHZ",
        help="TSC's rate in intlog's text and EbbRT's memory (default: 2899.999, the papers' server)",
    )
    parser.add_argument(
        "--energy-unit-uj",
        type=arguments.reader(_energy_unit_uj, "--energy-unit-uj"),
        metavar="UJ",
        help="RAPL energy unit in intlog's text and EbbRT's memory, uJ (default: 15.2588, the papers' server)",
    )


def open_given(path: Path, args: argparse.Namespace) -> Log:
    """The log in a file, as the flags describe its machine.

    Raises:
        InputError: it is none.
    """
    from bayop.interrupts.log import open_log

    tsc_hz = None if args.tsc_mhz is None else round(args.tsc_mhz * 1e6)
    energy_unit_j = None if args.energy_unit_uj is None else args.energy_unit_uj * 1e-6
    return open_log(path, tsc_hz=tsc_hz, energy_unit_j=energy_unit_j)


def _tsc_mhz(text: str) -> float:
    return _between(parse_quantity(text, "MHz"), text, _TSC_MHZ, "MHz")


def _energy_unit_uj(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise InputError("it must be a number of uJ", value=text) from None
    return _between(value, text, _ENERGY_UNIT_UJ, "uJ")


def _between(value: float, text: str, bounds: tuple[float, float], unit: str) -> float:
    if not bounds[0] <= value <= bounds[1]:
        raise InputError(f"it must lie between {bounds[0]:g} and {bounds[1]:g} {unit}", value=text)
    return value
