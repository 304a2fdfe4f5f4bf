"""How the page looks in a real Chromium, compared with the pictures of docs/page.md.

What the daemon answers was recorded once (`looks/answers.json`, from a run of `tests.support.services`), time stands
still, and letters are those of matplotlib's DejaVu Sans: what differs is what Chromium makes of edges, or the page. If
it is meant to look otherwise, `BAYOPTEST_RENEW=1` writes the pictures anew; look at them before a commit.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from PIL import Image

from bayop.daemon.web.static import page

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

HERE: Final = "http://localhost:9464/"
ANSWERS: Final[dict[str, Any]] = json.loads((Path(__file__).parent / "looks/answers.json").read_text(encoding="utf-8"))
PICTURES: Final = Path(__file__).parents[2] / "docs/figures"
NOW_S: Final = 2.0 + max(window["start_s"] for window in ANSWERS["/api/services/cache"]["windows"])
SIZES: Final = {"wide": {"width": 1200, "height": 1500}, "narrow": {"width": 400, "height": 1500}}
LETTERS: Final = """
@font-face { font-family: still; src: url(/letters.ttf) }
* { font-family: still !important; caret-color: transparent !important }
"""
STREAM: Final = """
const ask = fetch, hello = 'id: 1\\nevent: hello\\ndata: {"event": "hello"}\\n\\n';
const stays = () => new ReadableStream({ start: (to) => to.enqueue(new TextEncoder().encode(hello)) });
window.fetch = (path, ...more) => path === "/api/stream" ? Promise.resolve(new Response(stays())) : ask(path, ...more);
"""
"""A stream of which nothing follows, and which does not end, as no answer that is played could."""

LATEST_S: Final = 120.0
TABLES: Final = ("windows", "searches", "events", "damaged")
BLOCK_PX: Final = 10
"""Pictures are compared by the mean of such squares, which edges of letters hardly change."""
MOST_OFF: Final = 24
"""How far a square may be off, of 255."""
MOST_BLOCKS_OFF: Final = 0.01
"""The share of squares that may be further off."""


def answer(route: Any, answers: Mapping[str, Any]) -> None:
    """Plays the daemon, and the letters."""
    path = route.request.url.removeprefix(HERE.rstrip("/"))
    if path == "/letters.ttf":
        letters = files("matplotlib") / "mpl-data/fonts/ttf/DejaVuSans.ttf"
        route.fulfill(body=letters.read_bytes(), content_type="font/ttf")
    elif path in answers:
        route.fulfill(json=answers[path])
    else:
        content = page()[path]
        route.fulfill(body=content.body, content_type=content.kind)


@pytest.mark.parametrize(("width", "scheme"), [("wide", "light"), ("wide", "dark"), ("narrow", "light")])
def test_it_looks_as_in_its_pictures(browser: Any, width: str, scheme: str, tmp_path: Path) -> None:
    context = browser.new_context(
        viewport=SIZES[width], color_scheme=scheme, reduced_motion="reduce", timezone_id="UTC", locale="en-GB"
    )
    tab = context.new_page()
    tab.set_default_timeout(1000 * LATEST_S)
    tab.clock.set_fixed_time(1000 * NOW_S)
    tab.route("**/*", lambda route: answer(route, ANSWERS))
    tab.add_init_script(STREAM)
    tab.goto(HERE)
    tab.add_style_tag(content=LETTERS)
    tab.get_by_role("img", name="The path of").wait_for()
    tab.evaluate("document.fonts.ready")
    seen = tab.screenshot()
    context.close()
    picture = PICTURES / f"page-{width}-{scheme}.png"
    if "BAYOPTEST_RENEW" in os.environ:
        Image.open(io.BytesIO(seen)).convert("RGB").quantize(128).save(picture, optimize=True)
    (tmp_path / "seen.png").write_bytes(seen)
    off = np.abs(blocks(io.BytesIO(seen)) - blocks(picture)).max(axis=2)
    share = np.mean(off > MOST_OFF)
    assert share <= MOST_BLOCKS_OFF, f"{share:.1%} of {tmp_path / 'seen.png'} differ from {picture}"


def test_before_a_first_window_an_axis_has_its_beginning_alone(browser: Any) -> None:
    service = ANSWERS["/api/services/cache"]["service"]
    nothing = dict.fromkeys(("power_w", "latency_us", "margin", "setting", "saved", "qps"))
    service = {**service, **nothing, "doing": "trouble", "trouble": "no agent listens", "restored": False}
    answers: dict[str, Any] = {
        "/api/services": {**ANSWERS["/api/services"], "services": [service]},
        "/api/services/cache": {"service": service, "default": None, **{name: [] for name in TABLES}},
        "/api/services/cache/map": None,
    }
    tab = browser.new_page()
    tab.set_default_timeout(1000 * LATEST_S)
    tab.route("**/*", lambda route: answer(route, answers))
    tab.add_init_script(STREAM)
    tab.goto(HERE)
    for name, said in (("Latency at", "0 µs"), ("Power of", "0 W")):
        numbers = tab.get_by_role("img", name=name).locator("text")
        numbers.first.wait_for()
        assert numbers.all_text_contents() == [said]
    assert tab.get_by_text("p99<200us; unknown").is_visible()
    assert tab.get_by_text("not known to be in effect").count() == 1
    tab.close()


def blocks(picture: Path | io.BytesIO) -> np.ndarray:
    """The mean colours of a picture's squares: rows, columns, channels."""
    with Image.open(picture) as image:
        small = image.convert("RGB").reduce(BLOCK_PX)
    return np.asarray(small, dtype=float)
