"""A real Prometheus with something to scrape."""

from __future__ import annotations

import shutil
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.support.servers import free_port

from bayop.errors import InputError
from bayop.latency.prometheus_api import Api

SCRAPE_S: Final = 0.1
"""How often the exporter is scraped."""

BUCKETS_S: Final = (0.0001, 0.0002, 0.0005, 0.001)
"""Upper bounds of the histogram's buckets, in s."""

_START_S: Final = 60.0


class Exporter:
    """Serves the histogram `request_duration_seconds` of requests that arrive steadily.

    Args:
        shares: Share of the requests in each bucket, as many as `BUCKETS_S` and one for those above.
        qps: Requests/s, of each of two instances.
    """

    def __init__(self, shares: Sequence[float], *, qps: float) -> None:
        self._shares, self._qps = tuple(shares), qps
        self._began = time.monotonic()
        exporter = self

        class Handler(BaseHTTPRequestHandler):
            def handle(self) -> None:
                # Prometheus hangs up on a scrape that a busy machine makes too late.
                with suppress(ConnectionError):
                    super().handle()

            def do_GET(self) -> None:
                body = exporter.text().encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the base class's name
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def address(self) -> str:
        """Where it is scraped."""
        host, port = self._server.server_address[:2]
        return f"{host!s}:{port}"

    def text(self) -> str:
        """The metrics now, in Prometheus' text format; `idle` has buckets and no requests."""
        requests = (time.monotonic() - self._began) * self._qps
        lines = []
        for name, instance, count in (
            ("request_duration_seconds", "a", requests),
            ("request_duration_seconds", "b", requests),
            ("idle_duration_seconds", "a", 0.0),
        ):
            below = 0.0
            for bound, share in zip((*BUCKETS_S, "+Inf"), self._shares, strict=True):
                below += share * count
                lines.append(f'{name}_bucket{{replica="{instance}",le="{bound}"}} {below}')
            lines.append(f'{name}_count{{replica="{instance}"}} {below}')
        return "\n".join(lines) + "\n"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Prometheus:
    """A Prometheus server of its own, on a free port.

    Args:
        folder: For its configuration and data.
        target: What it scrapes, `HOST:PORT`.
        more: What it scrapes, too.
        scrape_s: How often, and for how long at most.
    """

    def __init__(self, folder: Path, *, target: str, more: Sequence[str] = (), scrape_s: float = SCRAPE_S) -> None:
        targets = ", ".join(f"'{each}'" for each in (target, *more))
        self.address = f"127.0.0.1:{free_port()}"
        self._folder = folder
        (folder / "prometheus.yml").write_text(
            f"scrape_configs:\n- job_name: test\n  scrape_interval: {scrape_s * 1000:.0f}ms\n"
            f"  scrape_timeout: {scrape_s * 1000:.0f}ms\n  static_configs: [{{targets: [{targets}]}}]\n",
            encoding="ascii",
        )
        self._process: subprocess.Popen[bytes] | None = None

    @staticmethod
    def is_installed() -> bool:
        """Whether there is one to start."""
        return shutil.which("prometheus") is not None

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://{self.address}"

    def __enter__(self) -> Self:
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    "prometheus",
                    f"--config.file={self._folder / 'prometheus.yml'}",
                    f"--storage.tsdb.path={self._folder / 'data'}",
                    f"--web.listen-address={self.address}",
                ],
                stdout=log,
                stderr=log,
            )
        try:
            self._wait_until_scraped(self._process)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Ends it."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None

    def _wait_until_scraped(self, process: subprocess.Popen[bytes]) -> None:
        """It takes five seconds to look for its targets for the first time."""
        ends = time.monotonic() + _START_S
        api = Api(self.url, timeout_s=1.0)
        while process.poll() is None and time.monotonic() < ends:
            try:
                if api.sample("min(up)").value == 1.0:
                    return
            except InputError:
                pass
            time.sleep(0.05)
        raise RuntimeError((self._folder / "log").read_text(encoding="utf-8", errors="replace")[-2000:])
