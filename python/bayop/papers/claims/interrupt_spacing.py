"""The claim that the driver's dynamic policy makes interrupts irregular ([D] Fig. 2), against the published logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayop.papers.claims.claim import Claim, Finding, Verdict

if TYPE_CHECKING:
    from bayop.papers.claims.evidence import Evidence

_LOGS: Final = {
    "dynamic_64_B": "interrupts_netpipe_linux_default_64B.csv.gz",
    "dynamic_8_KB": "interrupts_netpipe_linux_default_8192B.csv.gz",
    "fixed_8_KB": "interrupts_netpipe_linux_static_8192B_itr8us_2500MHz.csv.gz",
}


def _spacing(evidence: Evidence) -> Finding:
    data: dict[str, float] = {}
    for name, file in _LOGS.items():
        spacing = evidence.interrupt_spacing(file)
        data |= {f"{name}_median_us": spacing["p50_us"], f"{name}_variation_share": spacing["variation"]}
    return Finding(
        Verdict.PARTLY,
        "The dynamic policy's spacing differs several times between message sizes, which a fixed delay's does not. "
        "Within one settled run it varies less than the fixed one's: these logs do not show it irregular.",
        data,
    )


CLAIMS: Final = (
    Claim(
        id="dynamic-delay",
        paper="D",
        place="Fig. 2",
        statement="The driver's dynamic policy lets the time between interrupts vary; a fixed delay makes it stable",
        printed="a figure",
        command=f"bayop interrupts show ../shared/data/{_LOGS['dynamic_8_KB']} --out build/interrupts",
        figure="interrupt-spacing",
        examine=_spacing,
    ),
)
