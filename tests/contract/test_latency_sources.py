"""Every source of latency keeps the contract."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.prometheus import Prometheus
from tests.support.servers import free_port, memcached_on

from bayop.experiments.rig.veth import VethPair
from bayop.latency.base import LatencySource
from bayop.latency.command import LatencyCommand
from bayop.latency.ebpf import EbpfProbe
from bayop.latency.open_loop import OpenLoopProbe
from bayop.latency.prometheus import PrometheusQuery
from bayop.slo import Slo
from bayop.testing.latencies import LatencySourceContract

QUERY = "histogram_quantile($quantile, sum by (le) (rate(request_duration_seconds_bucket[$window])))"


class TestCommand(LatencySourceContract):
    def make(self) -> LatencySource:
        code = (
            "import os, time; time.sleep(float(os.environ['BAYOP_WINDOW_S']));"
            """print('{"vantage": "client", "p50_us": 80, "p99_us": 310, "qps": 1000}')"""
        )
        return LatencyCommand(shlex.join([sys.executable, "-c", code]))

    def make_broken(self) -> LatencySource:
        return LatencyCommand("/nonexistent/p99")


class TestPrometheus(LatencySourceContract):
    @pytest.fixture(autouse=True)
    def _running(self, prometheus: Prometheus) -> None:
        self.url = prometheus.url

    def make(self) -> LatencySource:
        return PrometheusQuery.parse(f"{self.url}?query={QUERY}", slo=Slo(0.99, 500.0))

    def make_broken(self) -> LatencySource:
        return PrometheusQuery.parse(f"http://127.0.0.1:9?query={QUERY}", slo=Slo(0.99, 500.0))


@pytest.mark.alone
class TestOpenLoopProbe(LatencySourceContract):
    @pytest.fixture(autouse=True)
    def _running(self, idle_memcached: str) -> None:
        self.server = idle_memcached

    def make(self) -> LatencySource:
        return OpenLoopProbe(f"memcached://{self.server} --qps 500", slo=Slo(0.5, 500.0))

    def make_broken(self) -> LatencySource:
        return OpenLoopProbe("memcached://127.0.0.1:9", slo=Slo(0.5, 500.0))


@pytest.mark.alone
class TestEbpfProbe(LatencySourceContract):
    @pytest.fixture(autouse=True)
    def _running(self, probe_binary: Path, loaded_pair: VethPair) -> None:
        self.command = f"{probe_binary} --netns {loaded_pair.server.path} --rx-usecs 10"

    def make(self) -> LatencySource:
        return EbpfProbe(f"{self.command} --port 11211")

    def make_broken(self) -> LatencySource:
        return EbpfProbe(f"{self.command} --port 9")


@pytest.fixture(scope="module")
def idle_memcached() -> Iterator[str]:
    """A memcached on a free port of loopback."""
    with memcached_on(port := free_port()):
        yield f"127.0.0.1:{port}"
