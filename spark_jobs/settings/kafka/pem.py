"""Keys and certificates as PEM text, in the form that both librdkafka and Java read."""

from __future__ import annotations

import re

_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----.+?-----END \1-----", re.DOTALL)
NO_KEY = "it has no readable private key"
PASSWORD_LESS = "it is not encrypted, and ssl.key.password is given"
PASSWORD_MISSING = "it is encrypted, and ssl.key.password is not given"
PASSWORD_WRONG = "ssl.key.password does not decrypt it, or it is not a private key"


class KeyFault(ValueError):
    """Why a key cannot be used, and the remedy."""


def blocks(text: str) -> list[tuple[str, str]]:
    """The kind and the text of each PEM block, in order."""
    return [(block[1], block[0]) for block in _BLOCK.finditer(text.replace("\r\n", "\n"))]


def certificates(text: str) -> str:
    """The certificates of the text; empty where there is none."""
    return "".join(f"{block}\n" for kind, block in blocks(text) if kind == "CERTIFICATE")


def key(text: str) -> str:
    """The first private key, of any kind; empty where there is none."""
    return next((f"{block}\n" for kind, block in blocks(text) if kind.endswith("PRIVATE KEY")), "")


def decrypted_key(text: str, password: str | None) -> str:
    """The first private key of the text as PKCS#8 without a password. Raises KeyFault.

    Java's Kafka client reads only PKCS#8. It cannot read the encrypted keys that OpenSSL makes
    (PBES2): its DefaultSslEngineFactory needs a SecretKeyFactory that Java 17 does not have.
    """
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - parsing a DAG needs no key
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - as above

    try:
        private_key = serialization.load_pem_private_key(
            key(text).encode(), password.encode() if password else None
        )
    except TypeError:
        fault = (
            (PASSWORD_LESS, "Leave ssl.key.password out")
            if password
            else (PASSWORD_MISSING, "Give ssl.key.password")
        )
        raise KeyFault(*fault) from None
    except (ValueError, UnsupportedAlgorithm):
        fault = (
            (PASSWORD_WRONG, "Correct the password or the key")
            if password
            else (NO_KEY, "Give a private key in PEM")
        )
        raise KeyFault(*fault) from None
    encoding, form, bare = (
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return private_key.private_bytes(encoding, form, bare).decode()
