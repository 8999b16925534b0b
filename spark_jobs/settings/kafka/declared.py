"""Takes a Kafka declaration as a user wrote it, with PEM text; or refuses a property by name.
Properties that are valid alone are held against each other.
"""

from __future__ import annotations

import difflib
import errno
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

from spark_jobs.errors import KafkaConfigInvalid
from spark_jobs.settings.checked import exposure
from spark_jobs.settings.kafka import pem
from spark_jobs.settings.kafka.consistency import HIDDEN, NEEDED, OAUTH, Consistency
from spark_jobs.settings.kafka.names import BY_NAME, FIXED, REFUSED
from spark_jobs.settings.kafka.properties_file import Malformed, parse

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")


class Declared:
    """The properties of one source: a file or a connection."""

    def __init__(self, given: Iterable[tuple[str, str]], source: str) -> None:
        self._source = source
        self._values: dict[str, str] = {}
        self._from: dict[str, str] = {}
        for name, value in given:
            self._take(name, value)

    def values(self) -> dict[str, str]:
        """The properties under librdkafka's names.

        Raises KafkaConfigInvalid where two of them conflict or one is missing.
        """
        return Consistency(self._values, self._from, self._refuse).checked()

    def _take(self, name: str, value: str) -> None:
        if name in FIXED:
            only, why = FIXED[name]
            if value.casefold() != only.casefold():
                self._refuse(name, repr(value), why, f"Give {only}, or leave it out")
        elif name not in BY_NAME:
            self._refuse_unknown(name)
        elif not value:
            self._refuse(name, repr(value), "it is empty", "Give it a value, or leave it out")
        else:
            row = BY_NAME[name]
            self._put(
                row.name,
                name,
                self._content(name, value, secret=row.secret) if name in row.file else value,
            )

    def _put(self, name: str, given: str, value: str) -> None:
        if name == "security.protocol":
            value = value.upper()
        if name.endswith(".pem"):
            value = "\n".join([*value.splitlines(), ""])
        shown = HIDDEN if name.endswith(".pem") or BY_NAME[name].secret else repr(value)
        allowed = {
            "security.protocol": PROTOCOLS,
            "sasl.mechanism": tuple(NEEDED),
            f"{OAUTH}method": ("oidc",),
        }.get(name)
        if allowed and value not in allowed:
            why = (
                "Sluice does not support Kerberos yet"
                if value == "GSSAPI"
                else "Sluice does not know this value"
            )
            self._refuse(given, shown, why, f"Use {' or '.join(allowed)}")
        if name.endswith("ca.pem") or name == "ssl.certificate.pem":
            value = pem.certificates(value)
            if not value:
                self._refuse(
                    given,
                    HIDDEN,
                    "it has no certificate in PEM",
                    "Give text that starts with -----BEGIN CERTIFICATE-----",
                )
        if not name.endswith(".pem") and _has_controls(value):
            self._refuse(
                given, shown, "it has a line break or another control character", "Leave that out"
            )
        if not name.endswith(".pem") and value != value.strip():
            self._refuse(given, shown, "it begins or ends with a blank", "Leave that out")
        if self._values.get(name, value) != value:
            self._refuse(
                given, shown, f"{self._from[name]} has another value", "Give one of the two"
            )
        self._values[name] = value
        self._from[name] = given

    def _content(self, name: str, path: str, *, secret: bool) -> str:
        if "-----BEGIN" in path or _has_controls(path):
            self._refuse(
                name,
                HIDDEN,
                "it is not a path",
                f"Give the path of a PEM file; PEM text belongs in {BY_NAME[name].name}",
            )
        try:
            exposed = exposure(Path(path)) if secret else ""
            text = Path(path).read_text(encoding="ascii", errors="replace")
        except OSError as error:
            # A name that is too long is more likely a key without its first line.
            shown = HIDDEN if error.errno == errno.ENAMETOOLONG else repr(path)
            self._refuse(
                name,
                shown,
                f"it cannot be read ({error.strerror})",
                "Name a PEM file that this user may read",
            )
        if exposed:
            self._refuse(
                name, repr(path), f"it holds a private key, and {exposed}", f"chmod 600 {path}"
            )
        return text

    def _refuse_unknown(self, name: str) -> NoReturn:
        known = sorted({*BY_NAME, *FIXED})
        close = difflib.get_close_matches(name, known, n=1)
        why = REFUSED.get(name) or "Sluice does not know this property"
        if close and name not in REFUSED:
            raise KafkaConfigInvalid.property_misspelt(
                source=self._source, name=name, why=why, close=close[0]
            )
        raise KafkaConfigInvalid.property_unknown(
            source=self._source, name=name, why=why, known=", ".join(known)
        )

    def _refuse(self, name: str, shown: str, why: str, remedy: str) -> NoReturn:
        raise KafkaConfigInvalid.property_refused(
            source=self._source, name=name, shown=shown, why=why, remedy=remedy
        )


def _has_controls(text: str) -> bool:
    return any(ord(letter) < ord(" ") for letter in text)


def checked(given: Iterable[tuple[str, str]], source: str) -> dict[str, str]:
    """The properties of a declaration, under librdkafka's names. Raises KafkaConfigInvalid, whose
    message starts with `source` and names the property.
    """
    return Declared(given, source).values()


def read(path: str) -> dict[str, str]:
    """Those of a properties file. Raises KafkaConfigInvalid."""
    source = f"SLUICE_KAFKA_CONFIG={path}"
    file = Path(path)
    try:
        lines = [*parse(file.read_text(encoding="utf-8"))]
        exposed = exposure(file)
    except OSError as error:
        raise KafkaConfigInvalid.file_unreadable(source=source, error=error.strerror) from None
    except UnicodeDecodeError:
        raise KafkaConfigInvalid.not_utf8(source=source) from None
    except Malformed as error:
        raise KafkaConfigInvalid.not_properties(source=source, error=error) from None
    values = checked(lines, source)
    if exposed and any(BY_NAME[name].secret for name in values):
        raise KafkaConfigInvalid.secret_exposed(source=source, exposed=exposed, path=path)
    return values
