from __future__ import annotations

import math
import ssl
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import NoReturn
from urllib.parse import parse_qs

import pytest

from bayop.errors import InputError
from bayop.exchange import Exchange
from bayop.latency import prometheus_api
from bayop.latency.prometheus_api import Api, Sample

NUMBER = '{{"status": "success", "data": {{"resultType": "vector", "result": [{{"value": [1700000000.5, "{}"]}}]}}}}'
"""An answer with one number."""


class Canned:
    """A server that gives one answer to everything."""

    def __init__(self) -> None:
        self.code, self.body, self.headers, self.delay_s = 200, b"", dict[str, str](), 0.0
        self.seen: list[dict[str, str]] = []
        self.asked: list[tuple[str, dict[str, list[str]]]] = []
        canned = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                canned.seen.append(dict(self.headers))
                form = self.rfile.read(int(self.headers["Content-Length"])).decode()
                canned.asked.append((self.path, parse_qs(form)))
                time.sleep(canned.delay_s)
                self.send_response(canned.code)
                for name, value in canned.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(canned.body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the base class's name
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def canned() -> Iterator[Canned]:
    canned = Canned()
    thread = threading.Thread(target=canned.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield canned
    canned.server.shutdown()
    canned.server.server_close()
    thread.join()


@pytest.mark.parametrize(
    ("code", "body", "said"),
    [
        (200, b"<html>", "what answers is no Prometheus"),
        (200, b'{"status": "success"}', "what answers is no Prometheus"),
        (
            200,
            b'{"status": "success", "data": {"resultType": "vector", "result": [{"value": [1]}]}}',
            "what answers is no Prometheus",
        ),
        (
            200,
            b'{"status": "success", "data": {"resultType": "vector", "result": [7]}}',
            "what answers is no Prometheus",
        ),
        (302, b"", "sends us elsewhere (HTTP 302)"),
        (401, b"", "does not let us in (HTTP 401)"),
        (403, b"{}", "does not let us in (HTTP 403)"),
        (404, b"not here", "answers a query with HTTP 404"),
        (503, b'{"status": "error", "error": "query timed out"}', "Prometheus refuses the query (query timed out)"),
    ],
)
def test_an_answer_that_prometheus_does_not_give_is_refused(canned: Canned, code: int, body: bytes, said: str) -> None:
    canned.code, canned.body, canned.headers = code, body, {"Location": "http://127.0.0.1:9/elsewhere"}
    with pytest.raises(InputError) as caught:
        Api(canned.url).sample("up")
    assert said in caught.value.message


def test_a_server_that_does_not_answer_is_given_up(canned: Canned) -> None:
    canned.delay_s = 0.5
    with pytest.raises(InputError, match=r"has not answered within 0\.1 s"):
        Api(canned.url, timeout_s=0.1).sample("up")


def test_whom_this_machine_trusts_is_read_once() -> None:
    assert prometheus_api._trusting() is prometheus_api._trusting()


def test_nobody_there_is_said() -> None:
    with pytest.raises(InputError, match=r"Prometheus does not answer: connection refused \(http"):
        Api("http://127.0.0.1:9").sample("up")


def test_a_certificate_that_is_not_trusted_is_said_with_what_to_do(
    canned: Canned, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> NoReturn:
        error = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed (_ssl.c:1)")
        error.verify_message = "unable to get local issuer certificate"
        raise error

    monkeypatch.setattr(Exchange, "ask", refuse)
    with pytest.raises(InputError, match=r"certificate is not trusted: unable to get local issuer .* \(http") as caught:
        Api(canned.url).sample("up")
    assert "_ssl.c" not in caught.value.message
    assert "update-ca-certificates" in str(caught.value.hint)


def test_the_token_is_read_anew_and_sent(canned: Canned, tmp_path: Path) -> None:
    canned.body = b'{"status": "success", "data": {"resultType": "vector", "result": [{"value": [1, "2"]}]}}'
    token = tmp_path / "token"
    token.write_text("first\n")
    api = Api(canned.url, token_file=token)
    for word in ("first", "second"):
        token.write_text(f"{word}\n")
        assert api.sample("up").value == 2.0
        assert canned.seen[-1]["Authorization"] == f"Bearer {word}"


@pytest.mark.parametrize("text", ["", "two words", "line\nline", "caf\u00e9"])
def test_a_token_is_one_word(tmp_path: Path, text: str) -> None:
    token = tmp_path / "token"
    token.write_text(text)
    with pytest.raises(InputError, match="token"):
        Api("https://127.0.0.1:9", token_file=token)


def test_one_number_and_the_moment_that_it_is_of(canned: Canned) -> None:
    canned.body = NUMBER.format("2.5").encode()
    assert Api(canned.url).sample("up") == Sample(1700000000.5, 2.5)


def test_infinities_and_nan_are_prometheus_own(canned: Canned) -> None:
    canned.body = NUMBER.format("+Inf").encode()
    assert Api(canned.url).sample("up").value == math.inf
    canned.body = NUMBER.format("NaN").encode()
    assert math.isnan(Api(canned.url).sample("up").value)


def test_a_query_is_asked_as_it_is_and_prometheus_gives_up_before_we_do(canned: Canned) -> None:
    canned.body = NUMBER.format("1").encode()
    query = 'sum(rate(a{path=~"/x?b=1&c"}[5m])) + 1'
    Api(f"{canned.url}/behind/a/proxy/", timeout_s=2.0).sample(query)
    assert canned.asked == [("/behind/a/proxy/api/v1/query", {"query": [query], "timeout": ["1800ms"]})]


def test_several_queries_are_one_request(canned: Canned) -> None:
    canned.body = (
        b'{"status": "success", "data": {"resultType": "vector", "result": ['
        b'{"metric": {"bayop_query": "1"}, "value": [7.5, "2"]},'
        b'{"metric": {"bayop_query": "0", "job": "x"}, "value": [7.5, "+Inf"]}]}}'
    )
    assert Api(canned.url).samples(["a", "rate(b[1m])"], limit_s=5.0) == [Sample(7.5, math.inf), Sample(7.5, 2.0)]
    ((_, form),) = canned.asked
    assert form["query"] == [
        'label_replace(a, "bayop_query", "0", "", "") or label_replace(rate(b[1m]), "bayop_query", "1", "", "")'
    ]


FIRST, SECOND, AGAIN = (
    f'{{"metric": {{"bayop_query": "{n}", "job": "{job}"}}, "value": [1, "{value}"]}}'
    for n, job, value in [(0, "x", 2), (1, "x", 3), (1, "y", 4)]
)


@pytest.mark.parametrize(
    ("series", "second"), [([FIRST], None), ([SECOND, AGAIN, FIRST], None), ([SECOND, FIRST], Sample(1.0, 3.0))]
)
def test_a_query_that_gives_no_number_or_several_has_none(
    canned: Canned, series: list[str], second: Sample | None
) -> None:
    result = ", ".join(series)
    canned.body = f'{{"status": "success", "data": {{"resultType": "vector", "result": [{result}]}}}}'.encode()
    assert Api(canned.url).samples(["a", "b"], limit_s=5.0) == [Sample(1.0, 2.0), second]


@pytest.mark.parametrize("code", [200, 400])
def test_an_answer_that_is_no_vector_is_none_to_all(canned: Canned, code: int) -> None:
    canned.code, canned.body = code, b'{"status": "error", "error": "parse error"}'
    assert Api(canned.url).samples(["a", "("], limit_s=5.0) == [None, None]


def test_several_series_or_none_are_said_with_what_helps(canned: Canned) -> None:
    canned.body = b'{"status": "success", "data": {"resultType": "vector", "result": [{"a": 1}, {"a": 2}, {"a": 3}]}}'
    with pytest.raises(InputError, match="the query gives 3 series") as caught:
        Api(canned.url).sample("up")
    assert "aggregate them" in str(caught.value.hint)
    assert caught.value.place == f"prometheus {canned.url.removeprefix('http://')}, up"
    canned.body = b'{"status": "success", "data": {"resultType": "vector", "result": []}}'
    with pytest.raises(InputError, match="the query gives nothing"):
        Api(canned.url).sample("up")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://h:9090", "a Prometheus must have an address"),
        ("h:9090", "a Prometheus must have an address"),
        ("http://", "a Prometheus must have an address"),
        ("http://h:99999", "a Prometheus must have an address"),
        ("http://h:9090?query=up", "a Prometheus must have an address"),
        ("http://h:9090#up", "a Prometheus must have an address"),
        ("http://me:secret@h:9090", "the address of h names a user"),
    ],
)
def test_what_is_no_address_is_refused_and_no_password_repeated(url: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        Api(url)
    assert "secret" not in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "localhost", "[::1]"])
def test_a_token_is_sent_in_the_clear_to_this_machine_alone(tmp_path: Path, host: str) -> None:
    token = tmp_path / "token"
    token.write_text("word")
    assert Api(f"http://{host}:9090", token_file=token).place("up") == f"prometheus {host}:9090, up"
    with pytest.raises(InputError, match="a token must not be sent in the clear") as caught:
        Api("http://10.0.0.1:9090", token_file=token)
    assert caught.value.hint == "https://"
