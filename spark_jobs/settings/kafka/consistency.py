"""Consistency: properties of Kafka that are valid alone, held against each other."""

from __future__ import annotations

import re
from typing import NoReturn, Protocol
from urllib.parse import urlsplit

from spark_jobs.settings.kafka import pem
from spark_jobs.settings.kafka.names import BY_NAME, REGISTRY

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
                name, repr(given), f"{secret} would be sent unencrypted", "Use an https:// URL"
            )
