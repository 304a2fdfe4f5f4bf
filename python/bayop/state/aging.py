"""Windows lose detail with age: after two weeks those of 10 minutes become one row, after a season those of an hour.

What is summed stays as it was: time, energy, requests, and requests over the SLO's limit. Windows are put together
where they are of one kind: of one service, phase and setting, and with the SLO met or missed. Trials, and windows that
were cut short or are damaged, stay as they are; they are few. One day of one service is one transaction.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Final

from bayop.state.damage import SOUND_WINDOW
from bayop.units import DAY_S


@dataclass(frozen=True, slots=True)
class Grain:
    """How detailed windows of an age are.

    Attributes:
        span_s: Windows that began within a multiple of this time and the next are one row.
        after_s: From which age on.
    """

    span_s: int
    after_s: float


GRAINS: Final = (Grain(600, 14 * DAY_S), Grain(3600, 91 * DAY_S))
"""The second begins where no error budget reaches back any more (90 days), so that it is never charged by the hour."""

_FIRST: Final = f"""
SELECT min(start_s) FROM window
WHERE service = :service AND start_s < :until_s AND grain_s < :span_s AND phase <> 'trial' AND cut_short IS NULL
  AND {SOUND_WINDOW}
"""  # noqa: S608 -- our own words

_OF_THE_DAY: Final = f"""
service = :service AND start_s >= :day_s AND start_s < :day_s + 86400 AND grain_s < :span_s AND phase <> 'trial'
  AND cut_short IS NULL AND {SOUND_WINDOW}
"""

_TOGETHER: Final = f"""
INSERT INTO window (service, start_s, duration_s, phase, setting, qps, power_w, latency_us, over_share, meets_slo,
  search, cut_short, grain_s)
SELECT service, min(start_s), total(duration_s), phase, setting, total(qps * duration_s) / total(duration_s),
  sum(power_w * duration_s) / sum(iif(power_w IS NULL, NULL, duration_s)),
  sum(latency_us * qps * duration_s) / sum(iif(latency_us IS NULL, NULL, qps * duration_s)),
  coalesce(total(over_share * qps * duration_s) / nullif(total(qps * duration_s), 0), 0), meets_slo, NULL, NULL, :span_s
FROM window WHERE {_OF_THE_DAY} AND id <= :last
GROUP BY CAST(start_s / :span_s AS INTEGER), phase, setting, meets_slo
"""  # noqa: S608 -- our own words

_APART: Final = f"DELETE FROM window WHERE {_OF_THE_DAY} AND id <= :last"  # noqa: S608 -- our own words


def age(database: sqlite3.Connection, service: str, now_s: float, *, days: int) -> None:
    """Takes detail from the oldest days of a service's windows that have too much for their age.

    Args:
        database: The state.
        service: Whose windows.
        now_s: The time.
        days: How many days at most; the others wait for the next time.

    Raises:
        sqlite3.Error: it can't be written; a day is as it was, or done.
    """
    for grain in GRAINS:
        until_s = (now_s - grain.after_s) // DAY_S * DAY_S
        for _ in range(days):
            place = {"service": service, "span_s": grain.span_s, "until_s": until_s}
            ((first_s,),) = database.execute(_FIRST, place).fetchall()
            if first_s is None:
                break
            _age_day(database, {**place, "day_s": first_s // DAY_S * DAY_S})


def _age_day(database: sqlite3.Connection, place: dict[str, object]) -> None:
    database.execute("BEGIN IMMEDIATE")
    try:
        ((last,),) = database.execute("SELECT max(id) FROM window").fetchall()
        database.execute(_TOGETHER, {**place, "last": last})
        database.execute(_APART, {**place, "last": last})
        database.execute("COMMIT")
    except BaseException:
        database.execute("ROLLBACK")
        raise
