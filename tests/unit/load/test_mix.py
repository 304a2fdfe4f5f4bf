from __future__ import annotations

from pathlib import Path

import pytest

from bayop.errors import InputError
from bayop.load.http_request import HttpRequest
from bayop.load.mix import read_queries, read_requests
from bayop.load.sql_query import SqlText


def mix(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mix.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_requests_have_weights_bodies_and_headers_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "order.json").write_bytes(b"{}")
    path = mix(
        tmp_path,
        '[read]\nweight = 9\npath = "/item/{n}"\n'
        '[order]\nmethod = "POST"\npath = "/orders"\nbody = "order.json"\n'
        'headers = ["Content-Type: application/json"]\n',
    )
    assert read_requests(path, "http", "GET", ["Cookie: a=1"]) == (
        HttpRequest(name="read", weight=9.0, path="/item/{n}", headers=("Cookie: a=1",)),
        HttpRequest(
            name="order",
            method="POST",
            path="/orders",
            headers=("Cookie: a=1", "Content-Type: application/json"),
            bodies=(b"{}",),
        ),
    )


def test_queries_have_weights(tmp_path: Path) -> None:
    path = mix(tmp_path, '[read]\nweight = 3\nquery = "SELECT {n}"\n[write]\nquery = "UPDATE t SET a = {n}"\n')
    assert read_queries(path) == (
        SqlText(name="read", text="SELECT {n}", weight=3.0),
        SqlText(name="write", text="UPDATE t SET a = {n}", weight=1.0),
    )


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("", "mix.toml has no table; a mix must have a table for each request", ""),
        ("[read]\npath = 'x'", "a path must start with / and have no spaces", "mix.toml:2"),
        ("[read]\npath = '/'\nbody = 'mix.toml'", "a request with a body must be POST, PUT or PATCH", "mix.toml:1"),
        ("[read]\npath = '/'\nmethod = 'GET'\nbody = 'mix.toml'", "must be POST, PUT or PATCH", "mix.toml:3"),
        ("path = '/'", "there is no key 'path'", "mix.toml:1"),
        ("[read]\nweight = 2", "path is missing; a request must have a path", "mix.toml:1"),
        ("[read]\npath = '/'\nweight = 0", "it must be a number from 1e-09 to 1e+09", "mix.toml:3"),
        ("[read]\npath = '/'\nmethod = 'HEAD'", "it must be GET, POST, PUT, PATCH, DELETE", "mix.toml:3"),
        ("[read]\npath = '/'\nquery = 'SELECT 1'", "there is no key 'query'", "mix.toml:3"),
        ("[read]\npath = '/'\nheaders = 'A: b'", "it must be a list of headers", "mix.toml:3"),
        ("[read]\npath = '/'\nheaders = ['A']", "a header must", "mix.toml:3"),
        ("[read]\npath = '/'\nbody = 'nowhere'", "nowhere: no such file", "mix.toml:3"),
    ],
)
def test_what_is_no_mix_is_refused_with_its_line(tmp_path: Path, text: str, message: str, place: str) -> None:
    with pytest.raises(InputError) as caught:
        read_requests(mix(tmp_path, text), "http", "GET", [])
    assert message in str(caught.value)
    assert place in str(caught.value)


def test_a_call_must_name_its_method(tmp_path: Path) -> None:
    path = mix(tmp_path, "[one]\npath = '/package.Service/Method'\n[other]\npath = '/package.Service'\n")
    with pytest.raises(InputError, match=r"the path of a call must be /package\.Service/Method .*mix\.toml:4"):
        read_requests(path, "grpc", "POST", [])
    get = mix(tmp_path, "[one]\npath = '/package.Service/Method'\nmethod = 'GET'\n")
    with pytest.raises(InputError, match=r"the method of a call must be POST .*mix\.toml:3"):
        read_requests(get, "grpc", "POST", [])


def test_a_query_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a request must have a query"):
        read_queries(mix(tmp_path, "[read]\nweight = 2"))
