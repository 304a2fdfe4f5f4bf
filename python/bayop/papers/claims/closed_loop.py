"""Claims about NetPIPE, one message bouncing between two machines, against the measured cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayop.papers.claims.cells import LEFT_ALONE, default_cell, fixed_cells, least
from bayop.papers.claims.claim import Claim, Finding, Numbers
from bayop.papers.claims.judge import as_ratio, judge_number, judge_saving, reduction

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from bayop.papers.claims.evidence import Evidence

MESSAGE_BYTES: Final = 65_536
"""The message that the papers print numbers for: 64 KB."""

_REPORT: Final = "bayop report ../shared/data/study_netpipe.csv --out build/netpipe"
_WITH_EBBRT: Final = "bayop report ../shared/data/study_netpipe.csv --with-ebbrt --out build/netpipe"
_MULTI_MODAL: Final = (
    "The default policy is multi-modal at this size (0.98 to 2.17 s in ten runs): the data's is the median, the twin's "
    "the slowest mode."
)


def _saving(quantity: str, os: str, printed: float) -> Callable[[Evidence], Finding]:
    def examine(evidence: Evidence) -> Finding:
        def numbers(cells: pl.DataFrame) -> Numbers:
            best, default = least(cells, os, MESSAGE_BYTES, quantity), default_cell(cells, MESSAGE_BYTES)
            share = reduction(best[quantity], default[quantity])
            return {"reduction_share": share, "as_ratio_share": as_ratio(share)}

        data = numbers(evidence.netpipe)
        twin = numbers(evidence.simulated_netpipe)
        return Finding(judge_saving(printed, data["reduction_share"]), _MULTI_MODAL, data, twin)

    return examine


def _goodput(evidence: Evidence) -> Finding:
    def gain(cells: pl.DataFrame, os: str) -> float:
        greatest: float = max(fixed_cells(cells, os, MESSAGE_BYTES)["goodput_mibit_s"].to_list())
        return greatest / default_cell(cells, MESSAGE_BYTES)["goodput_mibit_s"] - 1.0

    def numbers(cells: pl.DataFrame) -> Numbers:
        return {f"{os}_share": gain(cells, os) for os in (LEFT_ALONE, "ebbrt")}

    data = numbers(evidence.netpipe)
    verdict = judge_number(0.74, data["linux_share"])
    return Finding(verdict, _MULTI_MODAL, data, numbers(evidence.simulated_netpipe))


def _claim(
    id_: str,
    statement: str,
    printed: str,
    examine: Callable[[Evidence], Finding],
    figure: str,
    *,
    command: str = _WITH_EBBRT,
) -> Claim:
    return Claim(
        id=id_,
        paper="D",
        place="study of NetPIPE",
        statement=statement,
        printed=printed,
        command=command,
        figure=f"netpipe-64-kb-{figure}",
        examine=examine,
    )


CLAIMS: Final = (
    _claim(
        "netpipe-64k-energy-linux",
        "NetPIPE, 64 KB: energy of the best fixed setting on Linux against Linux left alone",
        "60 % less",
        _saving("energy_j", LEFT_ALONE, 0.6),
        "linux-v-energy",
        command=_REPORT,
    ),
    _claim(
        "netpipe-64k-energy-ebbrt",
        "The same on EbbRT against Linux left alone",
        "60 % less",
        _saving("energy_j", "ebbrt", 0.6),
        "ebbrt-v-energy",
    ),
    _claim(
        "netpipe-64k-time-linux",
        "NetPIPE, 64 KB: time of the fastest fixed setting on Linux against Linux left alone",
        "50 % less",
        _saving("roundtrip_us", LEFT_ALONE, 0.5),
        "linux-v-round-trip",
        command=_REPORT,
    ),
    _claim(
        "netpipe-64k-time-ebbrt",
        "The same on EbbRT against Linux left alone",
        "50 % less",
        _saving("roundtrip_us", "ebbrt", 0.5),
        "ebbrt-v-round-trip",
    ),
    _claim(
        "netpipe-64k-goodput",
        "NetPIPE, 64 KB: goodput of the fastest fixed setting on Linux against Linux left alone",
        "74 % more",
        _goodput,
        "linux-v-round-trip",
    ),
)
