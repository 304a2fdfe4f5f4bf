"""`bayop load --protocol http2` and `grpc` against nginx and gRPC's own server."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.end_to_end.load.test_http import log_of
from tests.support.servers import load, result_of

pytestmark = pytest.mark.alone

BRIEF = ["-q", "1kqps", "-t", "0.3s", "-w", "0s", "-c", "2", "-r", "3", "--json"]


def test_every_request_arrives_also_over_connections_that_the_server_ends(nginx_http2: str, site: Path) -> None:
    """nginx takes a hundred of each."""
    headers = ["Host: www.example.org", "User-Agent: probe", "X-Record: {n}"]
    words = ["--protocol", "http2", "--path", "/logged", *BRIEF, *(f"--header={header}" for header in headers)]
    counts = result_of(load("-s", nginx_http2, *words, "-t", "1s"))["counts"]
    log = log_of(site)
    assert set(log) == {f"GET www.example.org probe {record}" for record in range(3)}
    assert log.total() == counts["answered"] == counts["intended"] == counts["status_2xx"] > 500
    assert counts["timestamped"] > 0.5 * counts["answered"], "the kernel tells when each came"
    assert counts["reconnects"] > 4


@pytest.mark.parametrize(
    ("method", "outcome", "troubles"),
    [("Echo", "hits", []), ("Missing", "misses", []), ("Broken", "refused", ["grpc-status 13: Broken: m"])],
)
def test_a_call_ends_as_the_server_says(
    grpc: str, tmp_path: Path, method: str, outcome: str, troubles: list[str]
) -> None:
    (tmp_path / "message").write_text("m")
    words = ["--protocol", "grpc", "--path", f"/some.Service/{method}", "--body", str(tmp_path / "message")]
    result = result_of(load("-s", grpc, *words, *BRIEF, "-q", "300qps", "-t", "0.5s"))
    counts = result["counts"]
    assert counts["intended"] == counts["status_2xx"] > 50
    assert {name: counts[name] for name in ("misses", "refused") if counts[name]} == (
        {outcome: counts["intended"]} if outcome != "hits" else {}
    )
    assert list(result["troubles"]) == troubles


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--protocol", "grpc", "--method", "PUT"], "cannot use 'PUT': the method of a call must be POST (--method)"),
        (
            ["--protocol", "http2", "--header", "Upgrade: h2c"],
            "cannot use 'upgrade': a header must not be one of HTTP/1.1's connection (--header)",
        ),
    ],
)
def test_what_cannot_be_sent_is_bad_usage(flags: list[str], message: str) -> None:
    refused = load("-s", "127.0.0.1:9", *BRIEF, *flags)
    assert refused.returncode == 2
    assert result_of(refused)["message"] == message


def test_a_server_of_http_1_is_said_to_be_one(nginx: str) -> None:
    refused = load("-s", nginx, "--protocol", "http2", *BRIEF)
    event = result_of(refused)
    assert (refused.returncode, event["hint"]) == (1, "--protocol http is HTTP/1.1")
    assert "it does not speak HTTP/2" in event["message"]
