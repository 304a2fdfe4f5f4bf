"""A throw-away certificate authority for tests of mutual TLS, made by openssl(1)."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from lab.errors import LabError
from lab.packages import tool

_DAYS = 2


@dataclass(frozen=True)
class Identity:
    """A certificate and its private key, both PEM files."""

    certificate: Path
    key: Path


class Authority:
    """Signs certificates; another authority's are the wrong ones.

    Args:
        folder: Holds all files; created when it is not there.
        name: The authority's common name.
    """

    def __init__(self, folder: Path, *, name: str = "lab authority") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._identity = self._create("authority", f"/CN={name}", "-addext", "keyUsage=critical,keyCertSign")

    @property
    def certificate(self) -> Path:
        """What the other side has to trust."""
        return self._identity.certificate

    def server(self, name: str = "server") -> Identity:
        """A certificate for a server at 127.0.0.1, where the lab's ports are forwarded to, or at localhost."""
        return self._sign(name, "extendedKeyUsage=serverAuth", "subjectAltName=IP:127.0.0.1,DNS:localhost")

    def client(self, name: str = "client") -> Identity:
        """A certificate for a client."""
        return self._sign(name, "extendedKeyUsage=clientAuth", f"subjectAltName=DNS:{name}")

    def _sign(self, name: str, *extensions: str) -> Identity:
        signer = ("-CA", str(self._identity.certificate), "-CAkey", str(self._identity.key))
        options = [word for extension in extensions for word in ("-addext", extension)]
        return self._create(name, f"/CN={name}", *signer, *options, "-addext", "basicConstraints=critical,CA:FALSE")

    def _create(self, name: str, subject: str, *options: str) -> Identity:
        identity = Identity(certificate=self._folder / f"{name}.pem", key=self._folder / f"{name}.key")
        command = [
            *(tool("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc"),
            *("-days", str(_DAYS), "-subj", subject, "-out", str(identity.certificate), "-keyout", str(identity.key)),
        ]
        run = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise LabError(wrong=f"openssl makes no certificate: {run.stderr.strip()}", place=name)
        return identity
