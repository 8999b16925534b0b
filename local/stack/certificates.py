"""The stack's own certificate authority, and what it vouches for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

YEARS = timedelta(days=5 * 365)
"""Of the authority and of what it signs: they end together, and are made anew together
(docs/deploy.md, rotation).
"""


def private_key() -> str:
    """A new private key of an authority, PEM."""
    return _private(ec.generate_private_key(ec.SECP256R1()))


def authority(authority_key: str, name: str) -> str:
    """A certificate, PEM, of the authority that has this key (PEM).

    Another one by the same key and name takes its place.
    """
    signer = _signer(authority_key)
    subject = _named(name)
    builder = _certificate(subject, subject, signer.public_key())
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    return _pem(builder.sign(signer, hashes.SHA256()))


def vouches(authority_certificate: str, certificate: str) -> bool:
    """Whether the authority of the one PEM has signed the first certificate of the other."""
    issuer = x509.load_pem_x509_certificate(authority_certificate.encode())
    try:
        x509.load_pem_x509_certificate(certificate.encode()).verify_directly_issued_by(issuer)
    except (InvalidSignature, ValueError):
        return False
    return True


def pair(
    authority_key: str, authority_certificate: str, name: str, hosts: tuple[str, ...] = ()
) -> str:
    """A new private key and a certificate for `name`, by the authority, in one PEM.

    With `hosts` it is a server's too.
    """
    issuer = x509.load_pem_x509_certificate(authority_certificate.encode())
    signer = _signer(authority_key)
    key = ec.generate_private_key(ec.SECP256R1())
    builder = _certificate(_named(name), issuer.subject, key.public_key())
    if hosts:
        names = x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts])
        builder = builder.add_extension(names, critical=False)
    return _private(key) + _pem(builder.sign(signer, hashes.SHA256()))


def _signer(authority_key: str) -> ec.EllipticCurvePrivateKey:
    signer = serialization.load_pem_private_key(authority_key.encode(), None)
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    return signer


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
    # An hour back: clocks differ.
    builder = builder.serial_number(x509.random_serial_number()).not_valid_before(
        now - timedelta(hours=1)
    )
    return builder.not_valid_after(now + YEARS)


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _private(key: ec.EllipticCurvePrivateKey) -> str:
    none = serialization.NoEncryption()
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, none
    ).decode()


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
