"""`bayop load --tls` and real servers: whom it believes, and what it says of those whom it does not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.needs import need
from tests.support.servers import free_port, load, result_of, serving

from lab.certificates import Authority

BRIEF = ["-t", "0.3s", "-w", "0.1s", "-c", "4", "-r", "50", "--json"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need("openssl")
    folder = tmp_path_factory.mktemp("tls")
    folder.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def authority(folder: Path) -> Authority:
    return Authority(folder / "authority")


@pytest.fixture(scope="module")
def nginx(authority: Authority, folder: Path) -> Iterator[str]:
    """nginx with a certificate for 127.0.0.1 and localhost, which closes a connection after 100 requests."""
    identity, port = authority.server(), free_port()
    configuration = folder / "nginx.conf"
    configuration.write_text(
        f"""
        daemon off; master_process off; pid {folder}/nginx.pid; user root; error_log {folder}/error.log;
        events {{ worker_connections 256; }}
        http {{
            access_log off; keepalive_requests 100;
            client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
            uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
            ssl_certificate {identity.certificate}; ssl_certificate_key {identity.key};
            server {{
                listen 127.0.0.1:{port} ssl http2; listen 127.0.0.2:{port} ssl http2;
                ssl_protocols TLSv1.3; root {folder};
                location /large {{ default_type text/plain; }}
                location / {{ return 200 "$ssl_protocol"; }}
            }}
        }}
        """
    )
    (folder / "large").write_bytes(bytes(range(256)) * 1200)
    with serving(["nginx", "-c", str(configuration), "-e", str(folder / "error.log")], port):
        yield f"127.0.0.1:{port}"


def test_every_request_is_answered_also_over_connections_that_are_opened_again(
    nginx: str, authority: Authority
) -> None:
    trust = ["--tls", "--cacert", str(authority.certificate)]
    result = result_of(load("-s", nginx, "--protocol", "http", *trust, "-q", "3kqps", *BRIEF))
    counts = result["counts"]
    assert counts["answered"] == counts["intended"] == counts["status_2xx"] > 500
    assert counts["timestamped"] > 0.5 * counts["answered"], "the kernel tells when each came"
    assert counts["reconnects"] > 4


def test_http_2_is_agreed_upon_in_the_handshake(nginx: str, authority: Authority) -> None:
    flags = ["--tls", "--cacert", str(authority.certificate), "-q", "3kqps", *BRIEF]
    counts = result_of(load("-s", nginx, "--protocol", "http2", *flags))["counts"]
    assert counts["answered"] == counts["intended"] == counts["status_2xx"] > 500
    assert counts["timestamped"] > 0.5 * counts["answered"], "the kernel tells when each came"
    assert counts["reconnects"] > 4


def test_connections_that_are_open_stay_open_while_others_shake_hands(nginx: str, authority: Authority) -> None:
    """Their servers send tickets meanwhile, for sessions that may be resumed."""
    flags = ["--protocol", "http", "--tls", "--cacert", str(authority.certificate), "-q", "1kqps", *BRIEF, "-c", "200"]
    counts = result_of(load("-s", nginx, *flags))["counts"]
    assert counts["reconnects"] == 0
    assert counts["status_2xx"] == counts["intended"] > 100


def test_answers_of_many_records_arrive_whole(nginx: str, authority: Authority) -> None:
    """300 KB are twenty records, and more than the buffer has room for at first."""
    flags = ["--tls", "--cacert", str(authority.certificate), "--path", "/large", "-q", "100"]
    result = result_of(load("-s", nginx, "--protocol", "http", *flags, *BRIEF))
    assert result["counts"]["status_2xx"] == result["counts"]["intended"] > 10


def test_nobody_is_believed_who_has_not_signed(nginx: str, tmp_path: Path) -> None:
    stranger = Authority(tmp_path / "stranger", name="stranger").certificate
    http = ["-s", nginx, "--protocol", "http", "-q", "100", *BRIEF]
    for trust in (["--cacert", str(stranger)], []):
        run = load(*http, "--tls", *trust)
        assert run.returncode == 1
        event = result_of(run)
        assert event["message"] == f"cannot connect to {nginx}: invalid peer certificate: UnknownIssuer"
        assert "--cacert" in event["hint"]
    assert result_of(load(*http, "--tls", "--insecure"))["counts"]["status_2xx"] > 10


def test_a_certificate_is_for_a_name(nginx: str, authority: Authority) -> None:
    port = nginx.rpartition(":")[2]
    flags = ["--protocol", "http", "-q", "100", *BRIEF, "--tls", "--cacert", str(authority.certificate)]
    assert result_of(load("-s", f"localhost:{port}", *flags))["counts"]["status_2xx"] > 10
    run = load("-s", f"127.0.0.2:{port}", *flags)
    assert run.returncode == 1
    assert "not valid for name" in result_of(run)["message"]


def test_who_speaks_no_tls_is_told() -> None:
    port = free_port()
    with serving(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", ""], port):
        server = f"127.0.0.1:{port}"
        run = load("-s", server, "--protocol", "redis", "--tls", "--insecure", "--noload", "-q", "100", *BRIEF)
    assert run.returncode == 1
    assert result_of(run)["message"].startswith(f"cannot connect to {server}: ")


def test_records_are_stored_and_read_back_in_tls(authority: Authority) -> None:
    identity, port = authority.server("redis"), free_port()
    files = ["--tls-cert-file", str(identity.certificate), "--tls-key-file", str(identity.key)]
    more = ["--tls-ca-cert-file", str(authority.certificate), "--tls-auth-clients", "no", "--save", ""]
    with serving(["redis-server", "--port", "0", "--tls-port", str(port), "--bind", "127.0.0.1", *files, *more], port):
        flags = ["--protocol", "redis", "--tls", "--cacert", str(authority.certificate), "-u", "50%", "-q", "1kqps"]
        result = result_of(load("-s", f"127.0.0.1:{port}", *flags, *BRIEF))
    assert result["miss_ratio"] == 0.0
    assert result["counts"]["answered"] == result["counts"]["intended"] > 200


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--insecure"], "--insecure was given without --tls; --insecure must go with --tls"),
        (["--tls", "--cacert", "nowhere.pem"], "cannot read nowhere.pem: no such file"),
        (
            ["--tls", "--insecure", "--cacert", "x.pem"],
            "both --cacert and --insecure were given; a certificate must be looked at, or not",
        ),
        (
            ["--tls", "--cacert", __file__],
            "cannot trust by these authorities: there is none; they must be certificates in PEM (--cacert)",
        ),
    ],
)
def test_flags_that_make_no_sense_are_bad_usage(flags: list[str], message: str) -> None:
    run = load("-s", "127.0.0.1:1", "--protocol", "http", "-q", "100", *BRIEF, *flags)
    assert (run.returncode, result_of(run)["message"]) == (2, message)
