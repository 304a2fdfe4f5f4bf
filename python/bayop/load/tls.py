"""Whom the load generator believes that a server is who it says it is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bayop.errors import InputError, UnsupportedError, unreadable


@dataclass(frozen=True, slots=True)
class Tls:
    """TLS 1.2 or 1.3, with a server whose certificate is for the name, or address, by which it is named.

    Attributes:
        authorities: Certificates in PEM of who may have signed it; None: it is not looked at.
    """

    authorities: str | None


def tls_of(*, tls: bool, authorities: Path | None, insecure: bool) -> Tls | None:
    """What three flags, or keys of a file, say together; None where TLS is not spoken.

    Args:
        tls: Whether it is spoken.
        authorities: Who may have signed; None for those whom this machine believes.
        insecure: Nobody need have signed.

    Raises:
        InputError: they contradict each other, or the file can't be read.
        UnsupportedError: this machine believes nobody.
    """
    if not tls:
        if authorities is not None or insecure:
            rule = "certificates must be those of servers that speak it"
            raise InputError(rule, wrong="TLS is not spoken", parameter="tls")
        return None
    if insecure:
        if authorities is not None:
            rule = "a certificate must be looked at, or not"
            raise InputError(rule, wrong="there are authorities, whom nobody asks", parameter="insecure")
        return Tls(None)
    return Tls(system_authorities() if authorities is None else read_authorities(authorities))


def read_authorities(path: Path) -> str:
    """Certificates in PEM.

    Raises:
        InputError: the file can't be read.
    """
    try:
        return path.read_text(encoding="ascii")
    except OSError as error:
        raise unreadable(path, error) from error
    except UnicodeDecodeError as error:
        raise InputError("authorities must be certificates in PEM", value=str(path)) from error


def system_authorities() -> str:
    """Those whom OpenSSL believes on this machine (SSL_CTX_load_verify_locations(3)).

    Raises:
        UnsupportedError: there are none.
        InputError: they can't be read.
    """
    import ssl  # plans are read by many verbs, which trust nobody

    paths = ssl.get_default_verify_paths()
    files = [Path(paths.cafile)] if paths.cafile else []
    if not files and paths.capath:
        files = sorted(Path(paths.capath).glob("*.[0-9]"))
    if not files:
        raise UnsupportedError(wrong="this machine trusts no certificate authority", parameter="authorities")
    return "\n".join(read_authorities(file) for file in files)
