"""What `bayop load --protocol http` sends, as nginx has it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.support.servers import load, result_of

pytestmark = pytest.mark.alone

BRIEF = ["--protocol", "http", "-q", "1kqps", "-t", "0.3s", "-w", "0s", "-c", "2", "-r", "3", "--json"]
HTTP_ALONE = "paths, headers, methods and bodies must be those of HTTP requests"


@pytest.fixture(params=["http", "http2"])
def spoken(request: pytest.FixtureRequest, nginx: str, nginx_http2: str) -> list[str]:
    """Flags for the server, in each of the protocols that it speaks."""
    protocol: str = request.param
    return ["-s", {"http": nginx, "http2": nginx_http2}[protocol], *BRIEF, "--protocol", protocol]


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
    assert result["counts"]["timestamped"] > 0.5 * result["counts"]["answered"], "the kernel tells when each came"


def test_a_header_that_cannot_be_sent_is_bad_usage(nginx: str) -> None:
    framing = load("-s", nginx, *BRIEF, "--header", "Content-Length: 5")
    assert framing.returncode == 2
    event = result_of(framing)
    assert event["message"] == (
        "cannot use 'Content-Length: 5': a header must leave the length of the body to the generator (--header)"
    )
    elsewhere = load("-s", nginx, *BRIEF, "--protocol", "redis", "--header", "A: b")
    assert elsewhere.returncode == 2
    assert result_of(elsewhere)["message"] == f"--header was given with --protocol redis; {HTTP_ALONE}"


@pytest.mark.parametrize(
    ("method", "body", "length"),
    [("GET", None, "-"), ("DELETE", None, "-"), ("POST", None, "0"), ("POST", "{}", "2"), ("PATCH", "a: b\n\n", "6")],
)
def test_every_request_has_the_method_and_the_length_of_its_body(
    nginx: str, site: Path, method: str, body: str | None, length: str
) -> None:
    flags = ["--method", method]
    if body is not None:
        (site / "body").write_text(body)
        flags += ["--body", str(site / "body")]
    result = result_of(load("-s", nginx, "--path", "/method", *BRIEF, *flags))
    log = log_of(site)
    assert set(log) == {f"{method} {length}"}
    assert log.total() == result["counts"]["answered"] == result["counts"]["status_2xx"] > 100


def test_the_bodies_of_a_folder_arrive_in_turn(spoken: list[str], site: Path, tmp_path: Path) -> None:
    """Byte for byte: one of them is larger than what a socket takes at once, and than HTTP/2's window."""
    bodies = [bytes(range(256)), b"{n}\r\n", b"large\0\xff\r\n" * 2**17]
    for number, body in enumerate(bodies):
        (tmp_path / f"{number}.bin").write_bytes(body)
    path = f"/stored/{spoken[-1]}"
    flags = ["--method", "PUT", "--path", f"{path}/{{n}}", "--body", str(tmp_path), "-r", "6", "--timeout", "10s"]
    result = result_of(load(*spoken, *flags, "-q", "200qps"))
    assert result["counts"]["answered"] == result["counts"]["status_2xx"] > 0
    stored = {file.name: file.read_bytes() for file in (site / path[1:]).iterdir()}
    assert stored == {str(record): bodies[record % 3] for record in range(6)}


def test_requests_of_a_mix_are_sent_by_their_weights(spoken: list[str], site: Path, tmp_path: Path) -> None:
    (tmp_path / "body").write_text("{}")
    mix = tmp_path / "mix.toml"
    mix.write_text(
        '[read]\nweight = 3\npath = "/method"\n[write]\nmethod = "POST"\npath = "/method"\nbody = "body"\n',
        encoding="utf-8",
    )
    result = result_of(load(*spoken, "--mix", str(mix), "-t", "1s"))
    log = log_of(site)
    assert set(log) == {"GET -", "POST 2"}
    assert log.total() == result["counts"]["answered"] == result["counts"]["status_2xx"] > 500
    assert log["POST 2"] / log.total() == pytest.approx(0.25, abs=0.08)
    sent = {part["name"]: part["requests"] for part in result["mix"]}
    assert sent == {"read": log["GET -"], "write": log["POST 2"]}
    assert all(part["failed"] == 0 and part["latency"][0]["value_us"] > 0 for part in result["mix"])


def test_each_request_of_a_mix_is_told_by_itself(nginx: str, tmp_path: Path) -> None:
    mix = tmp_path / "mix.toml"
    mix.write_text('[index]\npath = "/"\n[refused]\npath = "/busy"\nweight = 0.5\n', encoding="utf-8")
    flags = [flag for flag in BRIEF if flag != "--json"]
    table = load("-s", nginx, *flags, "--mix", str(mix), "-t", "1s").stdout
    index, refused = (line.split() for line in table.splitlines() if line.split()[:1] in (["index"], ["refused"]))
    assert index[2] == "0"
    assert float(index[3].replace(",", "")) > 0
    assert refused[1:5] == [refused[1], refused[1], "failed", "failed"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--mix", "m", "--path", "/x"], "--path was given with --mix; what is asked must stand in the file of --mix"),
        (["--mix", "m", "--protocol", "redis"], "a mix must be of HTTP requests or of PostgreSQL's queries"),
        (["--mix", "nowhere.toml"], "cannot read nowhere.toml: no such file"),
    ],
)
def test_a_mix_that_cannot_be_sent_is_bad_usage(flags: list[str], message: str) -> None:
    refused = load("-s", "127.0.0.1:9", *BRIEF, *flags)
    assert refused.returncode == 2
    assert message in result_of(refused)["message"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ["--protocol", "redis", "--method", "PUT"],
            f"--method was given with --protocol redis; {HTTP_ALONE}",
        ),
        (
            ["--protocol", "echo", "--body", "x"],
            f"--body was given with --protocol echo; {HTTP_ALONE}",
        ),
        (["--method", "POST", "--body", "nowhere.json"], "cannot read nowhere.json: no such file"),
    ],
)
def test_a_body_that_cannot_be_sent_is_bad_usage(flags: list[str], message: str) -> None:
    refused = load("-s", "127.0.0.1:9", *BRIEF, *flags)
    assert refused.returncode == 2
    assert result_of(refused)["message"] == message


def test_a_body_needs_a_method_that_takes_one(nginx: str, tmp_path: Path) -> None:
    (tmp_path / "body").write_bytes(b"x")
    refused = load("-s", nginx, *BRIEF, "--body", str(tmp_path / "body"))
    assert refused.returncode == 2
    assert result_of(refused)["message"] == (
        "cannot use 'GET': the method of a request with a body must be POST, PUT or PATCH (--method)"
    )
