from __future__ import annotations

from pathlib import Path

import pytest

from bayop.errors import InputError, UnsupportedError
from bayop.load.tls import Tls, read_authorities, system_authorities, tls_of


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of certificates, which is the machine's, with no file beside it."""
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "nothing.pem"))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path / "certs"))
    (tmp_path / "certs").mkdir()
    return tmp_path / "certs"


def test_the_machine_trusts_what_is_in_its_folder_by_hash(folder: Path) -> None:
    for name, text in (("0a775a30.0", "first"), ("0a775a30.1", "second"), ("first.pem", "the same again")):
        (folder / name).write_text(text)
    assert system_authorities() == "first\nsecond"


def test_or_what_is_in_its_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "0a775a30.0").write_text("first")
    (folder / "bundle.pem").write_text("bundle")
    monkeypatch.setenv("SSL_CERT_FILE", str(folder / "bundle.pem"))
    assert system_authorities() == "bundle"


@pytest.mark.usefixtures("folder")
def test_a_machine_that_trusts_nobody_says_so() -> None:
    with pytest.raises(UnsupportedError, match="this machine trusts no certificate authority") as caught:
        system_authorities()
    assert caught.value.place == "authorities"


@pytest.mark.parametrize("insecure", [True, False])
def test_trust_without_tls_means_nothing(*, insecure: bool) -> None:
    authorities = None if insecure else Path("a.pem")
    with pytest.raises(InputError, match="TLS is not spoken") as caught:
        tls_of(tls=False, authorities=authorities, insecure=insecure)
    assert caught.value.place == "tls"


def test_a_certificate_is_looked_at_or_not(folder: Path) -> None:
    (folder / "0a775a30.0").write_text("all")
    (folder / "mine.pem").write_text("mine")
    assert tls_of(tls=False, authorities=None, insecure=False) is None
    assert tls_of(tls=True, authorities=None, insecure=True) == Tls(None)
    assert tls_of(tls=True, authorities=None, insecure=False) == Tls("all")
    assert tls_of(tls=True, authorities=folder / "mine.pem", insecure=False) == Tls("mine")
    with pytest.raises(InputError, match="a certificate must be looked at, or not") as caught:
        tls_of(tls=True, authorities=folder / "mine.pem", insecure=True)
    assert caught.value.place == "insecure"


def test_certificates_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "authority.der"
    path.write_bytes(b"\x30\x82\x01\xff")
    with pytest.raises(InputError, match="authorities must be certificates in PEM"):
        read_authorities(path)
    with pytest.raises(InputError, match="no such file"):
        read_authorities(tmp_path / "nowhere.pem")
