"""The Kafka declaration: brokers, security and credentials, for Spark's connector and for Sluice's
own look-ups.

It comes from a properties file (SLUICE_KAFKA_CONFIG) or from Airflow's connection, under
librdkafka's names, and is kept with the contents of PEM files.
It has secrets: its repr and command lines show none.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from pkgutil import resolve_name
from types import MappingProxyType

from spark_jobs.settings.kafka.names import BY_NAME, REGISTRY, TABLE

DECLARED = "spark_jobs.settings.kafka.declared"
"""What reads a declaration, and refuses a wrong one: an installation without one needs it not."""
HANDLER = "sasl.login.callback.handler.class"
"""Java's property that makes it use tokens."""
ALLOWED_URLS = "org.apache.kafka.sasl.oauthbearer.allowed.urls"
"""The system property with the allowed token URLs. kafka-clients needs it since 3.9.1
(ConfigurationUtils).
"""
SECURITY = "org.apache.kafka.common.security"
_SCRAM = f"{SECURITY}.scram.ScramLoginModule"
MODULES = {
    "PLAIN": f"{SECURITY}.plain.PlainLoginModule",
    "SCRAM-SHA-256": _SCRAM,
    "SCRAM-SHA-512": _SCRAM,
    "OAUTHBEARER": f"{SECURITY}.oauthbearer.OAuthBearerLoginModule",
}
"""SASL mechanism -> Kafka's login module for it."""


def jaas(mechanism: str, options: Mapping[str, str]) -> str:
    """The property sasl.jaas.config for one mechanism, in which Java's Kafka client has users,
    passwords and client secrets (kafka-clients' org.apache.kafka.common.security.JaasConfig). It
    escapes the options' values.
    """
    words = [f'{name}="{_escaped(value)}"' for name, value in options.items()]
    return f"{' '.join([MODULES[mechanism], 'required', *words])};"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")


class KafkaConfig:
    """Properties under librdkafka's names.

    `path` is the properties file with them; empty where there is none.
    """

    def __init__(self, values: Mapping[str, str], path: str = "") -> None:
        self._values = MappingProxyType(dict(values))
        self.path = path

    @classmethod
    def of(cls, given: Mapping[str, str], source: str) -> KafkaConfig:
        """From names and values.

        Raises KafkaConfigInvalid, whose message starts with `source` and names the property.
        """
        return cls(resolve_name(f"{DECLARED}:checked")(given.items(), source))

    @classmethod
    def read(cls, path: str) -> KafkaConfig:
        """From a properties file. Raises KafkaConfigInvalid."""
        return cls(resolve_name(f"{DECLARED}:read")(path), path)

    @property
    def brokers(self) -> str:
        """host:port separated by commas; empty where the declaration names none, so that
        SLUICE_KAFKA counts.
        """
        return self._values.get("bootstrap.servers", "")

    @property
    def protocol(self) -> str:
        return self._values.get("security.protocol", "PLAINTEXT")

    @property
    def mechanism(self) -> str:
        """Empty without SASL."""
        return self._values.get("sasl.mechanism", "")

    @property
    def user(self) -> str:
        """The user or the OAuth client that logs in; empty without SASL."""
        return self._values.get("sasl.username") or self._values.get(
            "sasl.oauthbearer.client.id", ""
        )

    @property
    def authorities(self) -> str:
        """The PEM certificates of the authorities that the brokers are checked against; empty for
        the machine's.
        """
        return self._values.get("ssl.ca.pem", "")

    def librdkafka(self) -> dict[str, str]:
        """The properties for confluent_kafka's clients, without the brokers."""
        return {
            name: value
            for name, value in self._values.items()
            if name != "bootstrap.servers" and not name.startswith(REGISTRY)
        }

    def registry(self) -> dict[str, str]:
        """The properties of the schema registry's client, without what their names begin with."""
        return {
            name.removeprefix(REGISTRY): value
            for name, value in self._values.items()
            if name.startswith(REGISTRY)
        }

    def java(self) -> dict[str, str]:
        """The properties for Java's clients, without the brokers.

        PEM is text, so executors need no files of this machine.
        """
        rows = [(row, self._values[row.name]) for row in TABLE if row.name in self._values]
        properties = {
            row.java: value for row, value in rows if row.java and row.name != "bootstrap.servers"
        }
        for store in ("truststore.certificates", "keystore.key"):
            if f"ssl.{store}" in properties:
                properties[f"ssl.{store.partition('.')[0]}.type"] = "PEM"
        if self.mechanism:
            options = dict(
                option for row, value in rows if row.jaas for option in _options(row.jaas, value)
            )
            properties["sasl.jaas.config"] = jaas(self.mechanism, options)
        if self.mechanism == "OAUTHBEARER":
            properties[HANDLER] = f"{SECURITY}.oauthbearer.OAuthBearerLoginCallbackHandler"
        return properties

    def java_options(self) -> list[str]:
        """JVM options that driver and executors need. None is a secret."""
        url = self._values.get("sasl.oauthbearer.token.endpoint.url")
        return [f"-D{ALLOWED_URLS}={url}"] if url else []

    def secrets(self) -> tuple[str, ...]:
        """The values that no log may show."""
        return tuple(value for name, value in self._values.items() if BY_NAME[name].secret)

    def text(self) -> str:
        """The text of a properties file with all properties, including PEM and secrets."""
        return str(resolve_name(f"{__package__}.properties_file:render")(self._values))

    def write_to(self, path: Path) -> KafkaConfig:
        """Writes a file for another process and returns the config with its path.

        The file is private; its folder must be.
        """
        path.touch(mode=0o600)
        path.write_text(self.text(), encoding="utf-8")
        return KafkaConfig(self._values, str(path))

    def __bool__(self) -> bool:
        """Whether it declares anything."""
        return bool(self._values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KafkaConfig) and (self._values, self.path) == (
            other._values,
            other.path,
        )

    def __hash__(self) -> int:
        return hash(self.path)

    def __repr__(self) -> str:
        return f"KafkaConfig({', '.join(self._values)})"


def _options(name: str, value: str) -> list[tuple[str, str]]:
    if name == "extension_":
        return [
            (name + key, extension)
            for key, _, extension in (pair.strip().partition("=") for pair in value.split(","))
        ]
    return (
        [("ssl.truststore.type", "PEM"), (name, value)]
        if name.startswith("ssl.")
        else [(name, value)]
    )


NOTHING = KafkaConfig({})
"""No declaration: brokers without encryption and login."""
