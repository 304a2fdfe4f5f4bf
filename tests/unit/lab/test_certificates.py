from __future__ import annotations

import socket
import ssl
import threading

import pytest

from lab.certificates import Authority, Identity


def handshake(server: Identity, client: Identity | None, *, trusted: Authority) -> bytes:
    """What a client hears over mutual TLS from a server that trusts one authority; both trust the same."""
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(server.certificate, server.key)
    server_context.load_verify_locations(trusted.certificate)
    server_context.verify_mode = ssl.CERT_REQUIRED
    client_context = ssl.create_default_context(cafile=str(trusted.certificate))
    if client is not None:
        client_context.load_cert_chain(client.certificate, client.key)
    ours, theirs = socket.socketpair()

    def serve() -> None:
        try:
            with server_context.wrap_socket(theirs, server_side=True) as tls:
                tls.sendall(b"welcome")
        except ssl.SSLError:
            theirs.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with client_context.wrap_socket(ours, server_hostname="127.0.0.1") as tls:
            return tls.recv(100)
    finally:
        ours.close()
        thread.join()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("right"))


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("wrong"), name="another authority")


def test_both_sides_accept_certificates_of_their_authority(authority: Authority) -> None:
    assert handshake(authority.server(), authority.client(), trusted=authority) == b"welcome"


def test_a_client_without_a_certificate_is_refused(authority: Authority) -> None:
    with pytest.raises((ssl.SSLError, ConnectionError)):
        handshake(authority.server(), None, trusted=authority)


def test_a_client_of_another_authority_is_refused(authority: Authority, stranger: Authority) -> None:
    with pytest.raises((ssl.SSLError, ConnectionError)):
        handshake(authority.server(), stranger.client(), trusted=authority)


def test_a_server_of_another_authority_is_refused(authority: Authority, stranger: Authority) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(stranger.server(), authority.client(), trusted=authority)
