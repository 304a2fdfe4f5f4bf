"""Servers that the tests of a module share."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.needs import require
from tests.support.servers import free_port, memcached_on, serving

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def memcached() -> Iterator[str]:
    port = free_port()
    with memcached_on(port):
        yield f"127.0.0.1:{port}"


@pytest.fixture(scope="module")
def redis() -> Iterator[str]:
    port = free_port()
    with serving(
        ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"], port
    ):
        yield f"127.0.0.1:{port}"


@pytest.fixture(scope="module")
def tpcc() -> Iterator[str]:
    """Our own TPC-C, which `cargo test` builds."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    program = target / "release" / "bayop-tpcc"
    require(program.exists(), "bayop-tpcc is not built", "cargo build --release --package bayop-tpcc-server")
    port = free_port()
    with serving([str(program), "--listen", f"127.0.0.1:{port}", "--workers", "1"], port):
        yield f"127.0.0.1:{port}"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of what nginx serves; its log of /logged and /method is `requests.log` there."""
    folder = tmp_path_factory.mktemp("nginx")
    (folder / "index.html").write_text("hello\n")
    (folder / "item").mkdir()
    for number in (0, 1):
        (folder / "item" / str(number)).write_text("hello\n")
    folder.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def nginx(site: Path) -> Iterator[str]:
    port = free_port()
    configuration = site / "nginx.conf"
    configuration.write_text(_NGINX.format(folder=site, port=port))
    with serving(["nginx", "-c", str(configuration), "-e", str(site / "error.log")], port):
        yield f"127.0.0.1:{port}"


@pytest.fixture(scope="module")
def nginx_http2(nginx: str) -> str:
    """The same, which speaks HTTP/2 there."""
    return nginx.replace("127.0.0.1", "127.0.0.2")


@pytest.fixture(scope="module")
def grpc() -> Iterator[str]:
    port = free_port()
    with serving([sys.executable, "-m", "tests.support.grpc_server", str(port)], port):
        yield f"127.0.0.1:{port}"


_NGINX = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
    access_log off; keepalive_requests 100;
    client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
    uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    log_format headers '$request_method $host $http_user_agent $http_x_record';
    log_format method '$request_method $content_length';
    server {{
        listen 127.0.0.1:{port}; listen 127.0.0.2:{port} http2; root {folder};
        location /busy {{ return 503; }}
        location /logged {{ access_log {folder}/requests.log headers; return 204; }}
        location /method {{ access_log {folder}/requests.log method; return 204; }}
        location /stored {{ dav_methods PUT; create_full_put_path on; client_max_body_size 2m; }}
    }}
}}
"""
