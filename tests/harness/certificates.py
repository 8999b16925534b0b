"""Certificates of the tests' own: an authority, servers, some out of date, and a client."""

import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HERE = ("127.0.0.1", "localhost")
"""The names of a broker on loopback."""


class Pair(NamedTuple):
    """A private key and its certificate, both PEM; the key is PKCS#8."""

    key: str
    certificate: str

    def write(self, folder: Path, name: str) -> tuple[Path, Path, Path]:
        """The files of key, certificate, and both in one, which only their owner reads."""
        files = folder / f"{name}.key", folder / f"{name}.crt", folder / f"{name}.pem"
        for file, text in zip(
            files, (self.key, self.certificate, self.key + self.certificate), strict=True
        ):
            file.write_text(text)
            file.chmod(0o600)
        return files


class Authority:
    """Signs certificates."""

    def __init__(self, name: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = _certificate(self._name, self._name, self._key.public_key(), timedelta(days=1))
        builder = builder.add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        self.certificate = _pem(builder.sign(self._key, hashes.SHA256()))

    def pair(self, name, *, hosts=(), lives=timedelta(days=1), password="") -> Pair:
        """A key and a certificate for it, valid from two days ago for what it `lives`."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = _certificate(subject, self._name, key.public_key(), lives)
        if hosts:
            builder = builder.add_extension(
                x509.SubjectAlternativeName([_host(host) for host in hosts]), critical=False
            )
        hidden = (
            serialization.BestAvailableEncryption(password.encode())
            if password
            else serialization.NoEncryption()
        )
        text = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, hidden
        ).decode()
        return Pair(text, _pem(builder.sign(self._key, hashes.SHA256())))


def _certificate(subject, issuer, key, lives) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
    builder = builder.serial_number(x509.random_serial_number())
    return builder.not_valid_before(now - timedelta(days=2)).not_valid_after(now + lives)


def _host(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
