"""How Kafka is reached and who asks: one declaration, for Spark's connector and for the broker look-ups.

It comes from a properties file (SLUICE_KAFKA_CONFIG) or from Airflow's connection, in librdkafka's names or Java's, and is
held here in librdkafka's, with PEM files read. It holds secrets: its text shows none, and it is never part of a command line.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from spark_jobs.contract.errors import KafkaConfigInvalid
from spark_jobs.contract.kafka import jaas, pem, properties_file
from spark_jobs.contract.kafka.declared import Declared
from spark_jobs.contract.kafka.names import BY_NAME, FIXED, HANDLER, TABLE

ALLOWED_URLS = "org.apache.kafka.sasl.oauthbearer.allowed.urls"
"""The system property without which kafka-clients (from 3.9.1 on: ConfigurationUtils) asks no URL for a token."""


class KafkaConfig:
    """Properties by librdkafka's names. `path` is the file that it was read from; empty where it was not."""

    def __init__(self, values: Mapping[str, str], path: str = "") -> None:
        self._values = MappingProxyType(dict(values))
        self.path = path

    @classmethod
    def of(cls, given: Mapping[str, str], source: str) -> KafkaConfig:
        """From names and values. Raises KafkaConfigInvalid, which begins with `source` and names the property."""
        return cls(Declared(given.items(), source).values())

    @classmethod
    def read(cls, path: str) -> KafkaConfig:
        """From a properties file. Raises KafkaConfigInvalid."""
        source, file = f"SLUICE_KAFKA_CONFIG={path}", Path(path)
        try:
            lines = properties_file.parsed(file.read_text(encoding="utf-8"))
            exposed = pem.exposure(file)
        except OSError as error:
            raise KafkaConfigInvalid(f"{source} cannot be read: {error.strerror}.",
                                     "Name a properties file that this user may read.") from None
        except UnicodeDecodeError:
            raise KafkaConfigInvalid(f"{source} is not UTF-8.", "Write it as UTF-8, or with \\uXXXX.") from None
        except properties_file.Malformed as error:
            raise KafkaConfigInvalid(f"{source}: {error}.", "It has a name=value a line; # begins a comment.") from None
        config = cls(Declared(((line.name, line.value) for line in lines), source).values(), path)
        if exposed and config.secrets():
            raise KafkaConfigInvalid(f"{source} holds a secret, and {exposed}.", f"chmod 600 {path}")
        return config

    @property
    def brokers(self) -> str:
        """host:port separated by commas; empty where the declaration leaves that to SLUICE_KAFKA."""
        return self._values.get("bootstrap.servers", "")

    @property
    def protocol(self) -> str:
        return self._values.get("security.protocol", "PLAINTEXT")

    @property
    def mechanism(self) -> str:
        """Empty where nobody logs in."""
        return self._values.get("sasl.mechanism", "")

    @property
    def user(self) -> str:
        """Whom the broker knows by a name: of SASL; empty for another."""
        return self._values.get("sasl.username") or self._values.get("sasl.oauthbearer.client.id", "")

    @property
    def authorities(self) -> str:
        """The PEM certificates that vouch for the brokers; empty for those of the machine."""
        return self._values.get("ssl.ca.pem", "")

    def librdkafka(self) -> dict[str, str]:
        """For confluent_kafka's clients, but for the brokers."""
        return {name: value for name, value in self._values.items() if name != "bootstrap.servers"}

    def java(self) -> dict[str, str]:
        """For Java's clients, but for the brokers: PEM as text, so that executors need no files of this machine."""
        rows = [(row, self._values[row.name]) for row in TABLE if row.name in self._values]
        found = {row.java: value for row, value in rows if row.java and row.name != "bootstrap.servers"}
        for store in ("truststore.certificates", "keystore.key"):
            if f"ssl.{store}" in found:
                found[f"ssl.{store.partition('.')[0]}.type"] = "PEM"
        if self.mechanism:
            options = dict(option for row, value in rows if row.jaas for option in _options(row.jaas, value))
            found["sasl.jaas.config"] = jaas.rendered(self.mechanism, options)
        if self.mechanism == "OAUTHBEARER":
            found[HANDLER] = FIXED[HANDLER][0]
        return found

    def java_options(self) -> list[str]:
        """System properties that the JVMs of driver and executors need. No secret is among them."""
        url = self._values.get("sasl.oauthbearer.token.endpoint.url")
        return [f"-D{ALLOWED_URLS}={url}"] if url else []

    def secrets(self) -> tuple[str, ...]:
        """The values that nobody may see."""
        return tuple(value for name, value in self._values.items() if BY_NAME[name].secret)

    def text(self) -> str:
        """A properties file with all of it, PEM included."""
        return properties_file.written(self._values)

    def kept_at(self, path: Path) -> KafkaConfig:
        """The same, in a file for another process. Writes the file, for its owner alone; its folder must be private."""
        path.touch(mode=0o600)
        path.write_text(self.text(), encoding="utf-8")
        return KafkaConfig(self._values, str(path))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KafkaConfig) and (self._values, self.path) == (other._values, other.path)

    def __hash__(self) -> int:
        return hash(self.path)

    def __repr__(self) -> str:
        return f"KafkaConfig({', '.join(self._values)})"


def _options(name: str, value: str) -> list[tuple[str, str]]:
    """An option of a login module, or several."""
    if name == "extension_":
        return [(name + key, said) for key, _, said in (pair.strip().partition("=") for pair in value.split(","))]
    return [("ssl.truststore.type", "PEM"), (name, value)] if name.startswith("ssl.") else [(name, value)]


NOTHING = KafkaConfig({})
"""No declaration: brokers on a plain network, who ask nobody's name."""
