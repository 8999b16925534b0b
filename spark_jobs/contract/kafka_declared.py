"""A declaration of Kafka as it was given, made into librdkafka's names and PEM, or refused by the name of the property."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

from spark_jobs.contract import jaas, pem
from spark_jobs.contract.errors import KafkaConfigInvalid
from spark_jobs.contract.kafka_names import BY_NAME, FIXED, HANDLER, JAAS, KEYSTORE, REFUSED, TABLE

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
USER, PASSWORD = "sasl.username", "sasl.password"
OAUTH = "sasl.oauthbearer."
NEEDED = {
    **dict.fromkeys(("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"), (USER, PASSWORD)),
    "OAUTHBEARER": (f"{OAUTH}client.id", f"{OAUTH}client.secret", f"{OAUTH}token.endpoint.url"),
}
"""Mechanism -> what it cannot do without."""
ABSENT, HIDDEN = "not given", "(not shown)"
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Declared:
    """What was given by one source."""

    def __init__(self, given: Iterable[tuple[str, str]], source: str) -> None:
        self._source = source
        self._values: dict[str, str] = {}
        self._from: dict[str, str] = {}
        for name, value in given:
            self._take(name, value)

    def values(self) -> dict[str, str]:
        """By librdkafka's names. Raises KafkaConfigInvalid where they do not fit together."""
        values = self._values
        self._settle_protocol()
        mechanism = values.get("sasl.mechanism")
        for name in NEEDED.get(mechanism or "", ()):
            if name not in values:
                self._refuse(name, ABSENT, f"{mechanism} cannot do without it", f"Give it: {BY_NAME[name].about}")
        idle = (USER, PASSWORD) if mechanism == "OAUTHBEARER" else (OAUTH, "https.")
        for name in [name for name in values if name.startswith(idle)]:
            self._refuse(self._from[name], HIDDEN, f"it is without effect with {mechanism or values.get('security.protocol')}",
                         "Leave it out")
        if mechanism == "OAUTHBEARER":
            values[f"{OAUTH}method"] = "oidc"
            self._refuse_url()
        if ("ssl.key.pem" in values) != ("ssl.certificate.pem" in values):
            missing = "ssl.certificate.pem" if "ssl.key.pem" in values else "ssl.key.pem"
            self._refuse(missing, ABSENT, "a key and its certificate go together", f"Give it: {BY_NAME[missing].about}")
        if "ssl.key.pem" in values:
            try:
                values["ssl.key.pem"] = pem.opened(values["ssl.key.pem"], values.pop("ssl.key.password", None))
            except pem.KeyFault as fault:
                self._refuse(self._from["ssl.key.pem"], HIDDEN, *fault.args)
        return values

    def _take(self, name: str, value: str) -> None:
        if name in FIXED:
            only, why = FIXED[name]
            if value.casefold() != only.casefold():
                self._refuse(name, repr(value), why, f"Give {only}, or leave it out")
        elif name == JAAS:
            self._take_jaas(value)
        elif name == KEYSTORE:
            content = self._content(name, value, secret=True)
            self._put("ssl.key.pem", name, pem.key(content))
            self._put("ssl.certificate.pem", name, pem.certificates(content))
        elif name not in BY_NAME:
            self._refuse_unknown(name)
        elif not value:
            self._refuse(name, repr(value), "it is empty", "Give it a value, or leave it out")
        else:
            row = BY_NAME[name]
            self._put(row.name, name, self._content(name, value, secret=row.secret) if name in row.file else value)

    def _put(self, name: str, given: str, value: str) -> None:
        """One row's value, as it was given under some name."""
        if name == "security.protocol":
            value = value.upper()
        shown = HIDDEN if name.endswith(".pem") or BY_NAME[name].secret else repr(value)
        allowed = {"security.protocol": PROTOCOLS, "sasl.mechanism": tuple(NEEDED), f"{OAUTH}method": ("oidc",)}.get(name)
        if allowed and value not in allowed:
            why = "Kerberos is not there yet" if value == "GSSAPI" else "Sluice knows no such one"
            self._refuse(given, shown, why, f"Use {' or '.join(allowed)}")
        if name.endswith("ca.pem") or name == "ssl.certificate.pem":
            value = pem.certificates(value)
            if not value:
                self._refuse(given, HIDDEN, "it holds no certificate in PEM",
                             "Give -----BEGIN CERTIFICATE----- and what follows")
        if not name.endswith(".pem") and any(ord(letter) < ord(" ") for letter in value):
            self._refuse(given, shown, "it has a line break or another control character",
                         "In a properties file, write two backslashes for one")
        if self._values.get(name, value) != value:
            self._refuse(given, shown, f"{self._from[name]} says another", "Give one of the two")
        self._values[name], self._from[name] = value, given

    def _take_jaas(self, text: str) -> None:
        entry = jaas.parsed(text)
        if entry is None or entry.module not in jaas.MODULES.values():
            module = f"its login module is {entry.module}" if entry else "it does not parse"
            self._refuse(JAAS, HIDDEN, module, f"Write <login module> required name=\"value\" ...; with one of "
                                             f"{', '.join(sorted(set(jaas.MODULES.values())))}")
        rows = {row.jaas: row for row in TABLE if row.jaas}
        extensions = [f"{n.removeprefix('extension_')}={v}" for n, v in entry.options.items() if n.startswith("extension_")]
        if extensions:
            self._put(f"{OAUTH}extensions", JAAS, ",".join(extensions))
        for name, value in entry.options.items():
            if name in rows:
                self._put(rows[name].name, f"{JAAS} ({name})", value)
            elif name != "ssl.truststore.type" and not name.startswith("extension_"):
                self._refuse(f"{JAAS} ({name})", HIDDEN, "it is not an option that is taken", f"Use {', '.join(rows)}")

    def _content(self, name: str, path: str, *, secret: bool) -> str:
        """The text of a PEM file."""
        try:
            exposed = pem.exposure(Path(path)) if secret else ""
            text = Path(path).read_text(encoding="ascii", errors="replace")
        except OSError as error:
            self._refuse(name, repr(path), f"it cannot be read ({error.strerror})", "Name a PEM file that this user may read")
        if exposed:
            self._refuse(name, repr(path), f"it holds a private key, and {exposed}", f"chmod 600 {path}")
        return text

    def _settle_protocol(self) -> None:
        values = self._values
        protocol = values.get("security.protocol", "PLAINTEXT")
        for prefix, word in (("sasl.", "SASL"), ("ssl.", "SSL")):
            given = next((self._from[name] for name in values if name.startswith(prefix)), None)
            if given and word not in protocol.split("_"):
                self._refuse("security.protocol", values.get("security.protocol", ABSENT), f"{given} would be without effect",
                             f"Give {'SASL_SSL' if word == 'SASL' else 'SSL or SASL_SSL'}, or leave {given} out")
        if "SASL" in protocol and "sasl.mechanism" not in values:
            self._refuse("sasl.mechanism", ABSENT, f"{protocol} cannot do without it", f"Use {' or '.join(NEEDED)}")

    def _refuse_url(self) -> None:
        name = f"{OAUTH}token.endpoint.url"
        url = urlsplit(given := self._values[name])
        if url.username or url.password or not given.isascii() or any(letter in given for letter in " \"'\\,"):
            self._refuse(name, HIDDEN, "it holds a user, or what no URL holds", "Write https://host/path")
        if url.scheme != "https" and not (url.scheme == "http" and url.hostname in LOOPBACK):
            self._refuse(name, repr(given), "the client's secret would be sent unencrypted", "Use an https:// URL")

    def _refuse_unknown(self, name: str) -> NoReturn:
        known = sorted({*BY_NAME, *FIXED, JAAS, KEYSTORE} - {HANDLER})
        close = difflib.get_close_matches(name, known, n=1)
        why = REFUSED.get(name) or "it is none that Sluice passes on"
        remedy = "Leave it out" if name in REFUSED or not close else f"Did you mean {close[0]}?"
        raise KafkaConfigInvalid(f"{self._source}: property {name!r}: {why}.",
                                 remedy.rstrip("?.") + ("?" if remedy.endswith("?") else f"; those are {', '.join(known)}."))

    def _refuse(self, name: str, shown: str, why: str, remedy: str) -> NoReturn:
        raise KafkaConfigInvalid(f"{self._source}: {name} is {shown}: {why}.", f"{remedy}.")
