"""The properties of a Kafka client that Sluice takes, in one table: librdkafka's name, the meaning,
and how it is handed to Java's.

librdkafka: its CONFIGURATION.md. Java: kafka-clients' CommonClientConfigs, SaslConfigs, SslConfigs.
Where Java expects a value in sasl.jaas.config, `jaas` is the name of the option there
(PlainLoginModule, ScramLoginModule, OAuthBearerLoginCallbackHandler).
"""

from __future__ import annotations

from typing import NamedTuple


class Property(NamedTuple):
    """One property. Sluice keeps it under `name`, which is librdkafka's."""

    name: str
    about: str
    java: str = ""
    jaas: str = ""
    also: tuple[str, ...] = ()
    """librdkafka's other names of it."""
    file: tuple[str, ...] = ()
    """Names of the path of a PEM file with the value.

    Sluice reads the file where the declaration is: executors need none.
    """
    secret: bool = False


TABLE = (
    Property(
        "bootstrap.servers",
        "the brokers, host:port separated by commas",
        "bootstrap.servers",
        also=("metadata.broker.list",),
    ),
    Property(
        "security.protocol", "PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL", "security.protocol"
    ),
    Property(
        "sasl.mechanism",
        "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER",
        "sasl.mechanism",
        also=("sasl.mechanisms",),
    ),
    Property("sasl.username", "the user of PLAIN and SCRAM", jaas="username"),
    Property("sasl.password", "its password", jaas="password", secret=True),
    Property("sasl.oauthbearer.method", "oidc: ask an identity provider for tokens"),
    Property(
        "sasl.oauthbearer.client.id",
        "the client that asks for tokens",
        jaas="clientId",
        also=("sasl.oauthbearer.client.credentials.client.id",),
    ),
    Property(
        "sasl.oauthbearer.client.secret",
        "its secret",
        jaas="clientSecret",
        secret=True,
        also=("sasl.oauthbearer.client.credentials.client.secret",),
    ),
    Property("sasl.oauthbearer.scope", "the scope to ask for", jaas="scope"),
    Property(
        "sasl.oauthbearer.extensions",
        "data for the broker besides the token: name=value separated by commas",
        jaas="extension_",
    ),
    Property(
        "sasl.oauthbearer.token.endpoint.url",
        "the URL that gives tokens",
        "sasl.oauthbearer.token.endpoint.url",
    ),
    Property(
        "https.ca.pem",
        "certificates of the authorities for the token endpoint",
        jaas="ssl.truststore.certificates",
        file=("https.ca.location",),
    ),
    Property(
        "ssl.ca.pem",
        "certificates of the authorities for the brokers",
        "ssl.truststore.certificates",
        file=("ssl.ca.location",),
    ),
    Property(
        "ssl.certificate.pem",
        "the client's certificate with the chain up to its authority",
        "ssl.keystore.certificate.chain",
        file=("ssl.certificate.location",),
    ),
    Property(
        "ssl.key.pem",
        "the certificate's private key",
        "ssl.keystore.key",
        secret=True,
        file=("ssl.key.location",),
    ),
    Property(
        "ssl.key.password",
        "the password of that key; Sluice decrypts the key where the declaration is",
        "ssl.key.password",
        secret=True,
    ),
    Property("client.id", "the name in the broker's log and quotas", "client.id"),
    Property(
        "client.rack",
        "the rack of the client, so that it reads from a replica nearby",
        "client.rack",
    ),
    Property(
        "client.dns.lookup",
        "use_all_dns_ips or resolve_canonical_bootstrap_servers_only",
        "client.dns.lookup",
    ),
    Property("schema.registry.url", "the URL of the schema registry's API"),
    Property(
        "schema.registry.basic.auth.user.info",
        "user:password for the schema registry",
        also=("basic.auth.user.info",),
        secret=True,
    ),
    Property(
        "schema.registry.bearer.auth.token",
        "a token for the schema registry",
        also=("bearer.auth.token",),
        secret=True,
    ),
    Property(
        "schema.registry.ssl.ca.pem",
        "certificates of the authorities for the schema registry",
        file=("schema.registry.ssl.ca.location",),
    ),
    Property(
        "schema.registry.ssl.certificate.pem",
        "the certificate that the schema registry is shown, with the chain up to its authority",
        file=("schema.registry.ssl.certificate.location",),
    ),
    Property(
        "schema.registry.ssl.key.pem",
        "that certificate's private key, without a password",
        secret=True,
        file=("schema.registry.ssl.key.location",),
    ),
)
REGISTRY = "schema.registry."
"""The properties of the schema registry's client: neither of Kafka's takes them."""

BY_NAME = {name: row for row in TABLE for name in (row.name, *row.also, *row.file)}
"""Every accepted name -> its row, without the names below."""

FIXED = {
    "ssl.endpoint.identification.algorithm": (
        "https",
        "without it, any server with a certificate of the same authority can act as the broker",
    ),
    "enable.ssl.certificate.verification": ("true", "without it, any server can act as the broker"),
    **dict.fromkeys(
        ("basic.auth.credentials.source", "schema.registry.basic.auth.credentials.source"),
        ("USER_INFO", "Sluice reads no other source"),
    ),
    **dict.fromkeys(
        ("bearer.auth.credentials.source", "schema.registry.bearer.auth.credentials.source"),
        ("STATIC_TOKEN", "Sluice asks no identity provider for the registry's tokens"),
    ),
}
"""Name -> its only allowed value, and why no other is allowed."""

_STORES = (
    "it is Java's: give PEM files, as ssl.ca.location, ssl.key.location and "
    "ssl.certificate.location"
)
_OF_A_STORE = ("location", "type", "password")
_KERBEROS = "Sluice does not support Kerberos yet: it needs a ticket cache on every executor"
_OWNED = "Sluice and Spark set it"
REFUSED = {
    "sasl.jaas.config": "it is Java's: give sasl.username and sasl.password",
    "sasl.login.callback.handler.class": _OWNED,
    **dict.fromkeys(
        [f"ssl.{store}store.{of}" for store in ("trust", "key") for of in _OF_A_STORE], _STORES
    ),
    "sasl.kerberos.service.name": _KERBEROS,
    "sasl.kerberos.keytab": _KERBEROS,
    "sasl.kerberos.principal": _KERBEROS,
    "group.id": "Sluice uses no consumer group: a run's offsets are in its checkpoint",
    "enable.auto.commit": "Sluice commits nothing to Kafka: a run's offsets are in its checkpoint",
    "auto.offset.reset": "a run starts at the offsets in its checkpoint",
    "isolation.level": "it is always read_committed: Sluice skips records of aborted transactions",
    "key.deserializer": _OWNED,
    "value.deserializer": _OWNED,
}
"""Known name -> why Sluice refuses it."""
