"""The page of `bayop run` in a real Chromium, beside the real agent: what a user sees and does."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.agents import AgentProcess
from tests.support.page import LATEST_S, NARROW, TOKEN, Run, first_paint_ms, running, violations
from tests.support.patience import eventually
from tests.support.services import Clients, service

# Whether seconds are kept shows on a machine that does nothing else.
pytestmark = [pytest.mark.slow, pytest.mark.alone, pytest.mark.timeout(600)]


@pytest.fixture
def run(tmp_path: Path, agent: AgentProcess) -> Iterator[Run]:
    """A service that is searched and held, and the same machine once more, observed."""
    clients = Clients(tmp_path / "clients")
    both = service(agent, clients, name="web") + service(agent, clients, name="looker", mode="observe")
    with running(tmp_path, both) as here:
        yield here


class Viewer:
    """A tab, which must stay without errors."""

    def __init__(self, browser: Any, url: str, **options: Any) -> None:
        self.page = browser.new_page(**options)
        self.page.set_default_timeout(1000 * LATEST_S)
        self.errors: list[str] = []
        self.page.on(
            "console", lambda said: self.errors.append(said.text) if said.type in ("error", "warning") else None
        )
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        here = url.partition("#")[0]
        self.page.on("request", lambda asked: None if asked.url.startswith(here) else self.errors.append(asked.url))
        self.page.goto(url)

    def sees(self, text: str) -> None:
        """Waits for a text that a user can see."""
        self.page.get_by_text(text).first.wait_for()

    @property
    def is_wide(self) -> bool:
        """Whether it has to be scrolled sideways."""
        return bool(self.page.evaluate("document.documentElement.scrollWidth > innerWidth"))


@contextmanager
def viewing(browser: Any, url: str, **options: Any) -> Iterator[Viewer]:
    viewer = Viewer(browser, url, **options)
    try:
        yield viewer
        assert viewer.errors == []
    finally:
        viewer.page.close()


def test_a_user_sees_a_search_as_it_happens(run: Run, browser: Any, tmp_path: Path) -> None:
    with viewing(browser, run.url) as viewer:
        page = viewer.page
        page.get_by_role("link", name="web").click()
        page.get_by_role("heading", name="web", exact=True).wait_for()
        viewer.sees("holding")
        viewer.sees("Search 1 (start) ended after")
        page.get_by_role("img", name="The path of").wait_for()
        page.get_by_text("The trials as a table").click()
        page.get_by_role("table").get_by_role("row").nth(2).wait_for()
        Clients(tmp_path / "clients").send(7000)
        viewer.sees("Search 2 (load +40%) ended after")
        chart = page.get_by_role("group", name="Power; arrow keys read it")
        chart.focus()

        def reads_hold() -> bool:
            page.keyboard.press("End")
            return "W, hold" in page.locator("figure", has=chart).locator("output").inner_text()

        assert eventually(reads_hold, within_s=LATEST_S), "what is held is seen with its first window"
        page.keyboard.press("Home")
        page.get_by_role("link", name="All services").click()
        viewer.sees("2 services")


def test_a_user_acts_by_a_token(run: Run, browser: Any) -> None:
    assert eventually(lambda: run.doing()["web"] == "hold", within_s=LATEST_S)
    with viewing(browser, f"{run.url}#/web") as viewer:
        page = viewer.page
        page.get_by_role("button", name="Pause").click()
        page.get_by_label("Token", exact=True).fill(TOKEN)
        page.keyboard.press("Enter")
        viewer.sees("paused by alice (web, 127.0.0.1)")
        assert eventually(lambda: run.doing()["web"] == "paused", within_s=LATEST_S)
        page.get_by_role("button", name="Resume").click()
        viewer.sees("goes on by alice (web, 127.0.0.1)")
        assert eventually(lambda: run.doing()["web"] == "hold", within_s=LATEST_S)
        page.get_by_role("button", name="Search now").click()
        viewer.sees("(asked for) ended after")


def test_a_user_pauses_all_services_at_once(run: Run, browser: Any) -> None:
    assert eventually(lambda: "paused" not in run.doing().values(), within_s=LATEST_S)
    with viewing(browser, run.url) as viewer:
        page = viewer.page
        assert page.get_by_role("button", name="Resume all").is_disabled()
        page.get_by_role("button", name="Pause all").click()
        page.get_by_label("Token", exact=True).fill(TOKEN)
        page.keyboard.press("Enter")
        viewer.sees("All services are paused.")
        assert eventually(lambda: set(run.doing().values()) == {"paused"}, within_s=LATEST_S)
        page.get_by_role("button", name="Resume all").click()
        viewer.sees("All services go on.")
        assert eventually(lambda: "paused" not in run.doing().values(), within_s=LATEST_S)


def test_a_user_with_a_wrong_token_is_told(run: Run, browser: Any) -> None:
    viewer = Viewer(browser, f"{run.url}#/web")
    viewer.page.get_by_role("button", name="Pause").click()
    viewer.page.get_by_label("Token", exact=True).fill("another-token-of-nobody")
    viewer.page.keyboard.press("Enter")
    viewer.sees("the token is not known")
    viewer.page.get_by_role("button", name="Cancel").click()
    assert all("401" in error for error in viewer.errors), viewer.errors
    viewer.page.close()
    assert "paused" not in run.doing().values()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_use_it(run: Run, browser: Any, scheme: str) -> None:
    assert eventually(lambda: run.doing()["web"] == "hold", within_s=LATEST_S)
    for path in ("", "#/web"):
        with viewing(browser, f"{run.url}{path}", color_scheme=scheme, viewport=NARROW) as viewer:
            if path:
                viewer.page.get_by_role("img", name="The path of").wait_for()
                viewer.page.get_by_text("The windows as a table").click()
                viewer.page.get_by_text("The trials as a table").click()
            else:
                viewer.page.get_by_role("link", name="looker").wait_for()
            assert violations(viewer.page) == []
            assert not viewer.is_wide
            background = viewer.page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (background == "rgb(255, 255, 255)") == (scheme == "light")


def test_something_is_seen_soon(run: Run, browser: Any) -> None:
    with viewing(browser, run.url) as viewer:
        viewer.page.get_by_role("link", name="looker").wait_for()
        paint_ms = first_paint_ms(viewer.page)
    print(f"first paint after {paint_ms:.0f} ms")
    assert paint_ms < 5000, "a second, on a machine that does nothing else"


def test_ten_viewers_cost_little(run: Run) -> None:
    assert eventually(lambda: run.doing()["web"] == "hold", within_s=LATEST_S)
    alone = load(run, 10.0)
    viewers = [threading.Thread(target=look_on, args=(run,), daemon=True) for _ in range(10)]
    for each in viewers:
        each.start()
    time.sleep(1.0)
    looked_at = load(run, 10.0)
    print(f"{alone:.2%} of a core alone, {looked_at:.2%} with ten viewers")
    assert looked_at - alone < 0.1


def load(run: Run, duration_s: float) -> float:
    """The daemon's share of a core."""
    began_s, before_s = time.monotonic(), run.cpu_s()
    time.sleep(duration_s)
    return (run.cpu_s() - before_s) / (time.monotonic() - began_s)


def look_on(run: Run) -> None:
    """What a page does once it is open, until the daemon ends."""
    host, _, port = run.url.removeprefix("http://").rstrip("/").partition(":")
    run.get("api/services/web")
    with closing(socket.create_connection((host, int(port)))) as viewer:
        viewer.sendall(b"GET /api/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        while viewer.recv(65_536):
            pass
