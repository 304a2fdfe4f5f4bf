"""One scrape."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from bayop.daemon.metrics.exposition import Family, Sample, exposition
from bayop.daemon.metrics.standings import STOOD, samples_of
from bayop.daemon.metrics.tally import COUNTED, WINDOW_END, Tally
from bayop.daemon.standing import Standing

BUILD: Final = Family("bayop_build_info", "gauge", ("version",), "The version of bayop run")
CPU_SECONDS: Final = Family("process_cpu_seconds_total", "counter", (), "Processor time of bayop run")
FAMILIES: Final = (BUILD, CPU_SECONDS, *STOOD, *COUNTED, WINDOW_END)
"""All that there may be, in their order."""


def scrape(standings: Iterable[Standing], tally: Tally, *, version: str, cpu_s: float) -> bytes:
    """The text of a scrape.

    Args:
        standings: How services stand.
        tally: What was counted.
        version: Ours.
        cpu_s: The processor time that we have taken, in s.
    """
    return exposition(_samples(tuple(standings), tally, version, cpu_s))


def _samples(standings: tuple[Standing, ...], tally: Tally, version: str, cpu_s: float) -> Iterator[Sample]:
    yield BUILD.at(1, version)
    yield CPU_SECONDS.at(cpu_s)
    for standing in standings:
        yield from samples_of(standing, tally.cause(standing.file.name))
    yield from tally.samples([standing.file.name for standing in standings])
