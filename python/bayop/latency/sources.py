"""The sources of latency by the texts that name them in `--latency`; one without a prefix is a command."""

from __future__ import annotations

from bayop.latency.base import LatencySource
from bayop.latency.command import LatencyCommand
from bayop.latency.ebpf import PREFIX as EBPF
from bayop.latency.ebpf import EbpfProbe
from bayop.latency.open_loop import PREFIX as PROBE
from bayop.latency.open_loop import OpenLoopProbe
from bayop.latency.prometheus import PREFIX as PROMETHEUS
from bayop.latency.prometheus import PrometheusQuery
from bayop.slo import Slo


def source_of(text: str, *, slo: Slo) -> LatencySource:
    """The source that a text names; without a prefix it is a command.

    Args:
        text: `prometheus:URL?query=PROMQL`, `probe:URL`, `ebpf:COMMAND` or a command.
        slo: What the latency is for; a query asks for its quantiles.

    Raises:
        InputError: the text can't be read.
    """
    if text.startswith(PROMETHEUS):
        return PrometheusQuery.parse(text.removeprefix(PROMETHEUS), slo=slo)
    if text.startswith(EBPF):
        return EbpfProbe(text.removeprefix(EBPF))
    if text.startswith(PROBE):
        return OpenLoopProbe(text.removeprefix(PROBE), slo=slo)
    return LatencyCommand(text)
