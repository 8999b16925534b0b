"""PEM: keys and certificates as text, in the one form that librdkafka and Java both read."""

from __future__ import annotations

import re
import stat
from pathlib import Path

_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----.+?-----END \1-----", re.DOTALL)
NO_KEY = "it holds no private key that can be read"
PASSWORD_LESS = "it is not encrypted, and ssl.key.password is given"
PASSWORD_MISSING = "it is encrypted, and ssl.key.password is not given"
PASSWORD_WRONG = "ssl.key.password does not open it, or it is no private key"


class KeyFault(ValueError):
    """Why a key cannot be used, and what would help."""


def blocks(text: str) -> list[tuple[str, str]]:
    """What each block of the text is, and the block, in their order."""
    return [(block[1], block[0]) for block in _BLOCK.finditer(text.replace("\r\n", "\n"))]


def certificates(text: str) -> str:
    """The certificates alone; empty where there is none."""
    return "".join(f"{block}\n" for kind, block in blocks(text) if kind == "CERTIFICATE")


def key(text: str) -> str:
    """The first private key, of any kind; empty where there is none."""
    return next((f"{block}\n" for kind, block in blocks(text) if kind.endswith("PRIVATE KEY")), "")


def opened(text: str, password: str | None) -> str:
    """The first private key of the text as PKCS#8 without a password. Raises KeyFault.

    Java's Kafka client reads no other kind, and of those with a password not the ones that OpenSSL makes (PBES2): its
    DefaultSslEngineFactory asks Java 17 for a SecretKeyFactory that is not there.
    """
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - what parses a DAG has no key
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - as above

    try:
        found = serialization.load_pem_private_key(key(text).encode(), password.encode() if password else None)
    except TypeError:
        raise KeyFault(*((PASSWORD_LESS, "Leave that out") if password else (PASSWORD_MISSING, "Give it"))) from None
    except (ValueError, UnsupportedAlgorithm):
        raise KeyFault(*((PASSWORD_WRONG, "Correct one of the two") if password else (NO_KEY, "Give one in PEM"))) from None
    encoding, form, bare = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return found.private_bytes(encoding, form, bare).decode()


def exposure(path: Path) -> str:
    """Who else may read or change a file that holds a secret, in words; empty where nobody.

    Its group may read it: so a service account that does not own the file gets it, from Kubernetes' fsGroup or systemd.
    """
    mode = path.stat().st_mode
    if mode & (stat.S_IROTH | stat.S_IWOTH | stat.S_IWGRP):
        who = "everybody on this machine" if mode & (stat.S_IROTH | stat.S_IWOTH) else "its group"
        may = "change" if mode & (stat.S_IWOTH | stat.S_IWGRP) else "read"
        return f"{who} may {may} it (mode {stat.S_IMODE(mode):04o})"
    return ""
