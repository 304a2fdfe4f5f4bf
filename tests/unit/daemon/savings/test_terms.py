"""The table of savings in a file: what it says, what is left out, and what is refused with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from bayop.carbon.grid import Grid
from bayop.control.quiet import Quiet, parse_zone
from bayop.control.switchbacks import SwitchbackTerms
from bayop.daemon.file import DaemonFile, ServiceFile
from bayop.daemon.savings.terms import SavingsTerms
from bayop.daemon.savings.worth import Tariff, Worth
from bayop.errors import InputError
from bayop.switchback import Schedule

WEB = """\
[service.web]
agent = "unix:/a"
latency = "./p99.sh"
slo = "p99<500us"
[service.web.policy]
watch_s = 30
zone = "Europe/Berlin"
"""
WHOLE = """\
[service.web.savings]
share = 0.03
least_share = 0.005
enough = 40
rest_s = 3600
price_per_kwh = 0.3
currency = "EUR"
grid = "grid.csv"
[service.web.savings.prices]
"Mon-Fri 08:00-20:00" = 0.4
"""


def web(tmp_path: Path, more: str) -> ServiceFile:
    path = tmp_path / "bayop.toml"
    path.write_text(WEB + more, encoding="utf-8")
    (tmp_path / "grid.csv").write_text("hour,gco2_per_kwh\n0,300\n1,400\n", encoding="utf-8")
    return DaemonFile.read(path).services[0]


def test_a_table_says_how_often_and_what_a_kwh_is_worth(tmp_path: Path) -> None:
    terms = web(tmp_path, WHOLE).savings
    assert terms.switchbacks == SwitchbackTerms(
        Schedule(30.0, most_share=0.03, least_share=0.005), seed="web", enough=40, rest_s=3600.0
    )
    hours = Quiet.parse(["Mon-Fri 08:00-20:00"], parse_zone("Europe/Berlin"))
    assert terms.worth == Worth(Tariff("EUR", 0.3, ((hours, 0.4),)), Grid((300.0, 400.0)))


def test_without_the_table_nothing_is_switched_back(tmp_path: Path) -> None:
    assert web(tmp_path, "").savings == SavingsTerms()


def test_an_empty_table_is_enough(tmp_path: Path) -> None:
    terms = web(tmp_path, "[service.web.savings]").savings
    assert terms == SavingsTerms(SwitchbackTerms(Schedule(30.0), seed="web"))


def test_a_small_share_is_the_least_too(tmp_path: Path) -> None:
    switchbacks = web(tmp_path, "[service.web.savings]\nshare = 0.002").savings.switchbacks
    assert switchbacks is not None
    assert switchbacks.schedule.least_share == 0.002


def test_it_polishes_unless_told_not_to(tmp_path: Path) -> None:
    assert web(tmp_path, "").polish == 60
    path = tmp_path / "bayop.toml"
    path.write_text(WEB + "polish = 0\n", encoding="utf-8")
    assert DaemonFile.read(path).services[0].polish == 0


@pytest.mark.parametrize(
    ("more", "line", "message"),
    [
        ("[service.web.savings]\nshare = 0.5", 9, "it must be a number from 0.0001 to 0.1"),
        ("[service.web.savings]\nleast_share = 0.05", 9, "least_share must be no more than share"),
        ("[service.web.savings]\nprice_per_kwh = 0.3", 8, "currency is missing"),
        ('[service.web.savings]\ncurrency = "EUR"', 8, "price_per_kwh is missing"),
        ('[service.web.savings.prices]\n"22:00-06:00" = 0.2', 8, "price_per_kwh is missing"),
        ('[service.web.savings]\ngrid = "nowhere.csv"', 9, "cannot read"),
        ("[service.web.savings]\nenough = 3", 9, "it must be a whole number from 12 to 1000"),
        ("[service.web.savings]\nshares = 0.01", 9, "there is no key 'shares'"),
        (WHOLE + '"late" = 0.2', 18, "hours must be days and times"),
        (WHOLE + '"22:00-06:00" = "much"', 18, "it must be a number from 0 to 1e"),
        ("[service.web.savings.costs]\nnight = 0.2", 8, "there is no key 'costs'"),
    ],
)
def test_a_mistake_has_a_line(tmp_path: Path, more: str, line: int, message: str) -> None:
    with pytest.raises(InputError) as caught:
        web(tmp_path, more)
    assert message in caught.value.message
    assert f"bayop.toml:{line}" in (caught.value.place or "")
