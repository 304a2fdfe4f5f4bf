from __future__ import annotations

import pytest

from bayop.errors import InputError
from bayop.latency.command import LatencyCommand
from bayop.latency.ebpf import EbpfProbe
from bayop.latency.prometheus import PrometheusQuery
from bayop.latency.sources import source_of
from bayop.slo import Slo

SLO = Slo.parse("p99<500us")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("./p99.sh --fast", LatencyCommand),
        ("ebpf:bayop-probe --port 11211 --wait eth0", EbpfProbe),
        ("prometheus:http://127.0.0.1:9090?query=latency_seconds_bucket", PrometheusQuery),
    ],
)
def test_the_prefix_says_which_source_it_is(text: str, kind: type[object]) -> None:
    assert type(source_of(text, slo=SLO)) is kind


@pytest.mark.parametrize("text", ["", "ebpf:", "prometheus:", "prometheus:ftp://host?query=x"])
def test_a_text_that_names_none_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        source_of(text, slo=SLO)
