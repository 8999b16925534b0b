"""PEM: keys and certificates as text, in the one form that librdkafka and Java both read."""

from __future__ import annotations

import re
import stat
from pathlib import Path

_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----.+?-----END \1-----", re.DOTALL)
KEYS = ("PRIVATE KEY", "ENCRYPTED PRIVATE KEY")
"""What PKCS#8 calls itself: Java reads no other."""


def blocks(text: str) -> list[tuple[str, str]]:
    """What each block of the text is, and the block, in their order."""
    return [(block[1], block[0]) for block in _BLOCK.finditer(text.replace("\r\n", "\n"))]


def certificates(text: str) -> str:
    """The certificates alone; empty where there is none."""
    return "".join(f"{block}\n" for kind, block in blocks(text) if kind == "CERTIFICATE")


def key(text: str) -> str:
    """The first private key, of any kind; empty where there is none."""
    return next((f"{block}\n" for kind, block in blocks(text) if kind.endswith("PRIVATE KEY")), "")


def key_fault(text: str, password: str | None) -> tuple[str, str] | None:
    """Why a key cannot be used by both clients, and what would help; None where it can."""
    kind = next((kind for kind, _ in blocks(text) if kind.endswith("PRIVATE KEY")), None)
    if kind is None:
        return "it holds no private key", "Give one in PEM, PKCS#8"
    if kind not in KEYS:
        return f"it is of the kind {kind}, and Java reads PKCS#8 alone", "Convert it: openssl pkcs8 -topk8 -in KEY -out NEW"
    if kind == KEYS[1] and not password:
        return "it is encrypted, and ssl.key.password is not given", "Give it"
    if kind == KEYS[0] and password:
        return "it is not encrypted, and ssl.key.password is given", "Leave that out"
    return None


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
