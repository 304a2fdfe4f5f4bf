"""The page's files: nothing of other hosts, nothing that the page's own policy would refuse, the reports' colours."""

from __future__ import annotations

import re
from importlib.resources import files

from bayop.daemon.web.static import page

FILES = {path: content.body.decode() for path, content in page().items()}


def test_every_file_is_served_by_its_name() -> None:
    assert {"/", "/page.css", "/page.js", "/icon.svg"} <= FILES.keys()
    assert page()["/"].kind == "text/html; charset=utf-8"
    assert page()["/page.js"].kind == "text/javascript; charset=utf-8"


def test_nothing_comes_from_elsewhere() -> None:
    addresses = [match for text in FILES.values() for match in re.findall(r"[a-z]+://[^\"'\s]+", text)]
    assert set(addresses) == {"http://www.w3.org/2000/svg"}, "a namespace is no address"


def test_nothing_stands_in_the_page_that_its_policy_forbids() -> None:
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]*src=)", FILES["/"])
    assert not any(
        re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text) for text in FILES.values()
    )


def test_what_is_imported_is_there_and_loaded_at_once() -> None:
    modules = {path for path in FILES if path.endswith(".js")}
    imported = {name for path in modules for name in re.findall(r'from "([^"]+)"', FILES[path])}
    assert imported <= modules
    assert set(re.findall(r'rel="modulepreload" href="([^"]+)"', FILES["/"])) == modules


def test_the_colours_are_those_of_the_reports() -> None:
    report = (files("bayop.report") / "page.css").read_text(encoding="utf-8")
    for name in ("paper", "ink", "soft", "line", "grid", "panel", "accent"):
        assert re.findall(rf"--{name}: (#\w+)", FILES["/page.css"]) == re.findall(rf"--{name}: (#\w+)", report)
