"""The page of a real `bayop run`, and a real Chromium that looks at it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.request import Request, urlopen

from tests.support.needs import program
from tests.support.patience import eventually
from tests.support.processes import cpu_s

LATEST_S: Final = 120.0
TOKEN: Final = "0123456789abcdef"  # noqa: S105 -- a test's
NARROW: Final = {"width": 400, "height": 800}
_AXES: Final = "wcag2a,wcag2aa,wcag21a,wcag21aa,wcag22aa,best-practice"
_QUIET: Final = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-renderer-backgrounding",  # on a busy machine, what nobody is thought to see gets no time
]


@contextmanager
def chromium() -> Iterator[Any]:
    """Debian's Chromium, driven by Playwright; both must be installed."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program("chromium"), args=_QUIET, timeout=1000 * LATEST_S)
        yield browser
        browser.close()


def violations(page: Any) -> list[str]:
    """What axe-core finds wrong."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, options={"runOnly": _AXES.split(",")}).response["violations"]
    return [f"{each['id']}: {node['html']}" for each in found for node in each["nodes"]]


def first_paint_ms(page: Any) -> float:
    """How long after it was asked for something could be seen."""
    return float(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))


@dataclass
class Run:
    """A daemon with a page."""

    process: subprocess.Popen[bytes]
    url: str
    err: Path

    def get(self, path: str) -> Any:
        """What is served as JSON."""
        with urlopen(Request(self.url + path), timeout=LATEST_S) as answer:  # noqa: S310 -- our own server
            return json.load(answer)

    def doing(self) -> dict[str, str]:
        """What each service is about."""
        return {each["service"]: each["doing"] for each in self.get("api/services")["services"]}

    def cpu_s(self) -> float:
        """Its processor time until now, without that of its sources of latency."""
        return cpu_s(self.process.pid)


@contextmanager
def running(folder: Path, services: str) -> Iterator[Run]:
    """`bayop run` with the page at a port that is free."""
    (folder / "web.token").touch(mode=0o600)
    (folder / "web.token").write_text(f"alice {TOKEN}\n", encoding="utf-8")
    text = f'[web]\nlisten = "127.0.0.1:0"\ntoken_file = "web.token"\n{services}'
    (folder / "bayop.toml").write_text(text, encoding="utf-8")
    out, err = folder / "out", folder / "err"
    words = [sys.executable, "-m", "bayop", "run", str(folder / "bayop.toml"), "--json"]
    with out.open("wb") as stdout, err.open("wb") as stderr:
        process = subprocess.Popen(words, stdout=stdout, stderr=stderr)
    try:
        assert eventually(lambda: '"page"' in out.read_text(encoding="utf-8"), within_s=LATEST_S), err.read_text()
        lines = out.read_text(encoding="utf-8").splitlines()
        url = next(event["url"] for event in map(json.loads, lines) if event["event"] == "page")
        yield Run(process, url, err)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(LATEST_S)
        sys.stderr.write(err.read_text(encoding="utf-8"))
