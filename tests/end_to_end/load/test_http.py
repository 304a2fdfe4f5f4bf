"""What `bayop load --protocol http` sends, as nginx has it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.support.servers import load, result_of

pytestmark = pytest.mark.alone

BRIEF = ["--protocol", "http", "-q", "1kqps", "-t", "0.3s", "-w", "0s", "-c", "2", "-r", "3", "--json"]


def log_of(site: Path) -> Counter[str]:
    """How often which line is in the log, which is emptied."""
    log = site / "requests.log"
    lines = log.read_text().splitlines()
    log.write_text("")
    return Counter(lines)


def test_headers_arrive_with_every_request(nginx: str, site: Path) -> None:
    headers = ["Host: www.example.org", "User-Agent: probe", "X-Record: {n}"]
    result = result_of(load("-s", nginx, "--path", "/logged", *BRIEF, *(f"--header={header}" for header in headers)))
    log = log_of(site)
    assert set(log) == {f"GET www.example.org probe {record}" for record in range(3)}
    assert log.total() == result["counts"]["answered"] == result["counts"]["status_2xx"] > 100


def test_a_header_that_cannot_be_sent_is_bad_usage(nginx: str) -> None:
    framing = load("-s", nginx, *BRIEF, "--header", "Content-Length: 5")
    assert framing.returncode == 2
    event = result_of(framing)
    assert event["message"] == (
        "cannot use 'Content-Length: 5': a header must leave the length of the body to the generator (--header)"
    )
    elsewhere = load("-s", nginx, *BRIEF, "--protocol", "redis", "--header", "A: b")
    assert elsewhere.returncode == 2
    assert result_of(elsewhere)["message"] == (
        "--header was given with --protocol redis; headers must be those of HTTP requests"
    )
