"""Takes a Kafka declaration as a user wrote it, with PEM text; or refuses a property by name.
Properties that are valid alone are held against each other.
"""

from __future__ import annotations

import difflib
import errno
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn, Protocol
from urllib.parse import urlsplit

from spark_jobs.errors import KafkaConfigInvalid
from spark_jobs.settings.exposure import exposure
from spark_jobs.settings.kafka import pem
from spark_jobs.settings.kafka.names import BY_NAME, FIXED, REFUSED, REGISTRY
from spark_jobs.settings.kafka.properties_file import Malformed, parse

USER, PASSWORD = "sasl.username", "sasl.password"
OAUTH = "sasl.oauthbearer."
NEEDED = {
    **dict.fromkeys(("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"), (USER, PASSWORD)),
    "OAUTHBEARER": (f"{OAUTH}client.id", f"{OAUTH}client.secret", f"{OAUTH}token.endpoint.url"),
}
"""SASL mechanism -> the properties that it needs."""
ABSENT, HIDDEN = "not given", "(not shown)"
URL = re.compile(r"[A-Za-z0-9:/?#\[\]@!$&()*+;=._~%-]+")
"""The characters of RFC 3986, without those that would end a word or an option of the JVM's command
line.
"""
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Refuse(Protocol):
    """Raises KafkaConfigInvalid. `shown` is the value, or a placeholder for a secret."""

    def __call__(self, name: str, shown: str, why: str, remedy: str) -> NoReturn: ...


class Consistency:
    """All properties of one declaration, under librdkafka's names.

    `given_as`: librdkafka's name -> the name in the source.
    """

    def __init__(self, values: dict[str, str], given_as: dict[str, str], refuse: Refuse) -> None:
        self._values = values
        self._from = given_as
        self._refuse = refuse

    def checked(self) -> dict[str, str]:
        """The properties in the form that both clients accept.

        Refuses conflicts and missing properties.
        """
        values = self._values
        self._check_protocol()
        mechanism = values.get("sasl.mechanism")
        for name in NEEDED.get(mechanism or "", ()):
            if name not in values:
                self._refuse(
                    name, ABSENT, f"{mechanism} needs it", f"Give it: {BY_NAME[name].about}"
                )
        idle = (USER, PASSWORD) if mechanism == "OAUTHBEARER" else (OAUTH, "https.")
        for name in [name for name in values if name.startswith(idle)]:
            self._refuse(
                self._from[name],
                HIDDEN,
                f"it has no effect with {mechanism or 'no sasl.mechanism'}",
                "Leave it out",
            )
        if mechanism == "OAUTHBEARER":
            values[f"{OAUTH}method"] = "oidc"
            self._refuse_url(f"{OAUTH}token.endpoint.url", "the client's secret")
        self._check_registry()
        if ("ssl.key.pem" in values) != ("ssl.certificate.pem" in values):
            missing = "ssl.certificate.pem" if "ssl.key.pem" in values else "ssl.key.pem"
            self._refuse(
                missing,
                ABSENT,
                "a key and its certificate go together",
                f"Give it: {BY_NAME[missing].about}",
            )
        if "ssl.key.password" in values and "ssl.key.pem" not in values:
            self._refuse(
                "ssl.key.password",
                HIDDEN,
                "it belongs to ssl.key.location, which is not given",
                "Leave it out",
            )
        if "ssl.key.pem" in values:
            try:
                values["ssl.key.pem"] = pem.decrypted_key(
                    values["ssl.key.pem"], values.pop("ssl.key.password", None)
                )
            except pem.KeyFault as fault:
                self._refuse(self._from["ssl.key.pem"], HIDDEN, *fault.args)
        return values

    def _check_protocol(self) -> None:
        values = self._values
        protocol = values.get("security.protocol", "PLAINTEXT")
        for prefix, word in (("sasl.", "SASL"), ("ssl.", "SSL")):
            given = next((self._from[name] for name in values if name.startswith(prefix)), None)
            if given and word not in protocol.split("_"):
                self._refuse(
                    "security.protocol",
                    values.get("security.protocol", ABSENT),
                    f"{given} would have no effect",
                    f"Give {'SASL_SSL' if word == 'SASL' else 'SSL or SASL_SSL'}, or leave "
                    f"{given} out",
                )
        if "SASL" in protocol and "sasl.mechanism" not in values:
            self._refuse(
                "sasl.mechanism", ABSENT, f"{protocol} needs it", f"Use {' or '.join(NEEDED)}"
            )

    def _check_registry(self) -> None:
        values = self._values
        given = [name for name in values if name.startswith(REGISTRY)]
        if not given:
            return
        url, basic, bearer = (
            f"{REGISTRY}{name}" for name in ("url", "basic.auth.user.info", "bearer.auth.token")
        )
        key, certificate = f"{REGISTRY}ssl.key.pem", f"{REGISTRY}ssl.certificate.pem"
        if url not in values:
            self._refuse(url, ABSENT, f"{self._from[given[0]]} needs it", "Give it")
        self._refuse_url(url, "secrets" if {basic, bearer} & {*given} else "")
        if basic in values and bearer in values:
            self._refuse(self._from[bearer], HIDDEN, f"{basic} is given too", "Give one of the two")
        if basic in values and ":" not in values[basic]:
            self._refuse(self._from[basic], HIDDEN, "it has no colon", "Write user:password")
        if (key in values) != (certificate in values):
            missing = certificate if key in values else key
            self._refuse(missing, ABSENT, "a key and its certificate go together", "Give it")
        if key in values:
            try:
                pem.decrypted_key(values[key], None)
            except pem.KeyFault as fault:
                self._refuse(self._from[key], HIDDEN, *fault.args)

    def _refuse_url(self, name: str, secret: str) -> None:
        """Refuse what is no URL, and one by which others read `secret`, where there is one."""
        given = self._values[name]
        try:
            url = urlsplit(given)
        except ValueError:
            url = urlsplit("")
        if "@" in url.netloc or not url.hostname or not URL.fullmatch(given):
            self._refuse(
                name, HIDDEN, "it is not a URL, or it contains a user", "Write https://host/path"
            )
        if url.scheme not in {"http", "https"}:
            self._refuse(name, repr(given), "it is not of http or https", "Write https://host/path")
        if secret and url.scheme != "https" and url.hostname not in LOOPBACK:
            self._refuse(
                name,
                repr(given),
                f"{secret} would be sent unencrypted",
                "Use an https:// URL",
            )


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
                given,
                shown,
                "it has a line break or another control character",
                "Leave that out",
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
            source=self._source,
            name=name,
            shown=shown,
            why=why,
            remedy=remedy,
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
