"""The table `[service.NAME.savings]`: how often what is held is compared with the default, and what a kWh is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import Path
from typing import Any, Final

from bayop.carbon.grid import read_grid
from bayop.control.quiet import Quiet
from bayop.control.switchbacks import MOST, SwitchbackTerms
from bayop.daemon.savings.worth import Tariff, Worth
from bayop.errors import InputError
from bayop.switchback import FEWEST, Schedule
from bayop.toml_file import Reader, TomlFile, number, text, whole
from bayop.units import DAY_S

_SHARE: Final = number(1e-4, 0.1)
_PRICE: Final = number(0.0, 1e6)
_KEYS: Final[Mapping[str, Reader]] = {
    "share": _SHARE,
    "least_share": _SHARE,
    "enough": whole(FEWEST, MOST),
    "rest_s": number(0.0, 90 * DAY_S),
    "price_per_kwh": _PRICE,
    "currency": text,
    "grid": text,
}


@dataclass(frozen=True, slots=True)
class SavingsTerms:
    """What the table says.

    Attributes:
        switchbacks: How what is held is compared with the default; None where the file has no such table.
        worth: What a kWh is worth.
    """

    switchbacks: SwitchbackTerms | None = None
    worth: Worth = field(default_factory=Worth)


def read_savings(file: TomlFile, path: Path, *, service: str, watch_s: float, zone: tzinfo) -> SavingsTerms:
    """Reads the table of a service.

    Args:
        file: The service's part of the file.
        path: The file; that of the grid is named from there.
        service: Its name, from which the random times follow.
        watch_s: How long a window is.
        zone: Whose clock a tariff goes by.

    Raises:
        InputError: a key is unknown, or a value is not what it has to be.
    """
    if "savings" not in file.table_names():
        return SavingsTerms()
    table = file.below("savings")
    table.check_tables({"prices": None}, _KEYS)
    values = table.read("", _KEYS)
    most = values.get("share", Schedule(watch_s).most_share)
    least = values.get("least_share", min(Schedule(watch_s).least_share, most))
    if least > most:
        raise InputError("least_share must be no more than share", value=least, place=table.place("", "least_share"))
    terms = SwitchbackTerms(
        Schedule(watch_s, most_share=most, least_share=least),
        seed=service,
        **{key: values[key] for key in ("enough", "rest_s") if key in values},
    )
    grid = values.get("grid")
    return SavingsTerms(
        terms,
        Worth(
            _tariff(table, values, zone),
            None if grid is None else table.at("", "grid", lambda: read_grid(path.parent / grid)),
        ),
    )


def _tariff(table: TomlFile, values: Mapping[str, Any], zone: tzinfo) -> Tariff | None:
    prices = table.values("prices")
    given = [key for key in ("price_per_kwh", "currency") if key in values]
    if not given and not prices:
        return None
    if missing := [key for key in ("price_per_kwh", "currency") if key not in given]:
        hint = 'such as price_per_kwh = 0.3 and currency = "EUR"'
        raise InputError(
            "a tariff must have price_per_kwh and currency",
            wrong=f"{missing[0]} is missing",
            place=table.place("" if given else "prices"),
            hint=hint,
        )
    return Tariff(
        values["currency"],
        values["price_per_kwh"],
        tuple(
            (
                table.at("prices", hours, lambda hours=hours: Quiet.parse([hours], zone)),  # type: ignore[misc]
                table.at("prices", hours, lambda price=price: _PRICE(price)),  # type: ignore[misc]
            )
            for hours, price in prices.items()
        ),
    )
