"""Every source of latency keeps the contract."""

from __future__ import annotations

import shlex
import sys

import pytest

from bayop.latency.base import LatencySource
from bayop.latency.command import LatencyCommand
from bayop.latency.prometheus import PrometheusQuery
from bayop.slo import Slo
from bayop.testing.latencies import LatencySourceContract
from bayop.testing.prometheus import Prometheus

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
