"""What a Kafka client may be told, in one table: librdkafka's name for it, Java's, and what it means.

librdkafka: its CONFIGURATION.md. Java: kafka-clients' CommonClientConfigs, SaslConfigs, SslConfigs. Where Java has a value in
sasl.jaas.config, `jaas` is the name of the option there (PlainLoginModule, ScramLoginModule, OAuthBearerLoginCallbackHandler).
"""

from __future__ import annotations

from typing import NamedTuple


class Property(NamedTuple):
    """One thing to say. Sluice keeps it under `name`, which is librdkafka's."""

    name: str
    about: str
    java: str = ""
    jaas: str = ""
    also: tuple[str, ...] = ()
    """Other names that either client has for the same."""
    file: tuple[str, ...] = ()
    """Names for the path of a PEM file with the value: it is read where the declaration is, so executors need no files."""
    secret: bool = False


TABLE = (
    Property("bootstrap.servers", "the brokers, host:port separated by commas", "bootstrap.servers",
             also=("metadata.broker.list",)),
    Property("security.protocol", "PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL", "security.protocol"),
    Property("sasl.mechanism", "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER", "sasl.mechanism",
             also=("sasl.mechanisms",)),
    Property("sasl.username", "the user of PLAIN and SCRAM", jaas="username"),
    Property("sasl.password", "its password", jaas="password", secret=True),
    Property("sasl.oauthbearer.method", "oidc: ask an identity provider for tokens"),
    Property("sasl.oauthbearer.client.id", "the client that asks for tokens", jaas="clientId",
             also=("sasl.oauthbearer.client.credentials.client.id",)),
    Property("sasl.oauthbearer.client.secret", "its secret", jaas="clientSecret", secret=True,
             also=("sasl.oauthbearer.client.credentials.client.secret",)),
    Property("sasl.oauthbearer.scope", "the scope to ask for", jaas="scope"),
    Property("sasl.oauthbearer.extensions", "what the broker is told beside the token: name=value separated by commas",
             jaas="extension_"),
    Property("sasl.oauthbearer.token.endpoint.url", "where tokens are asked for", "sasl.oauthbearer.token.endpoint.url"),
    Property("https.ca.pem", "the authorities that vouch for the token endpoint", jaas="ssl.truststore.certificates",
             file=("https.ca.location",)),
    Property("ssl.ca.pem", "the authorities that vouch for the brokers", "ssl.truststore.certificates",
             file=("ssl.ca.location", "ssl.truststore.location")),
    Property("ssl.certificate.pem", "the client's certificate, and the chain up to its authority",
             "ssl.keystore.certificate.chain", file=("ssl.certificate.location",)),
    Property("ssl.key.pem", "the certificate's private key", "ssl.keystore.key", secret=True,
             file=("ssl.key.location",)),
    Property("ssl.key.password", "what decrypts that key; it is decrypted where the declaration is", "ssl.key.password",
             secret=True),
    Property("client.id", "the name in the broker's log and quotas", "client.id"),
    Property("client.rack", "where the client is: a replica nearby is read from", "client.rack"),
    Property("client.dns.lookup", "use_all_dns_ips or resolve_canonical_bootstrap_servers_only", "client.dns.lookup"),
)

BY_NAME = {name: row for row in TABLE for name in (row.name, row.java, *row.also, *row.file) if name}
"""Every name that is taken, but for those below."""

KEYSTORE, JAAS, HANDLER = "ssl.keystore.location", "sasl.jaas.config", "sasl.login.callback.handler.class"
"""Java's for several rows at once: a file with key and certificate; user and password; that tokens are asked for."""

FIXED = {
    "ssl.truststore.type": ("PEM", "a JKS or PKCS12 store is for the JVM alone, and Sluice's look-ups are not in one"),
    "ssl.keystore.type": ("PEM", "a JKS or PKCS12 store is for the JVM alone, and Sluice's look-ups are not in one"),
    "ssl.endpoint.identification.algorithm": (
        "https", "without it, whoever has any certificate of the same authority can pass for the broker"),
    "enable.ssl.certificate.verification": ("true", "without it anybody can pass for the broker"),
    HANDLER: ("org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler",
              "a class of your own is for the JVM alone, and Sluice's look-ups are not in one"),
}
"""Names that may be given with one value alone, and why with no other."""

_STORES = "it is of a JKS or PKCS12 store, which is for the JVM alone: give PEM files"
_KERBEROS = "Kerberos is not there yet: it needs a ticket cache beside every executor"
_OWNED = "Sluice and Spark decide it"
REFUSED = {
    "ssl.truststore.password": _STORES, "ssl.keystore.password": _STORES,
    "sasl.kerberos.service.name": _KERBEROS, "sasl.kerberos.keytab": _KERBEROS, "sasl.kerberos.principal": _KERBEROS,
    "group.id": "no consumer group is used: a run's offsets are in its checkpoint",
    "enable.auto.commit": "nothing is committed to Kafka: a run's offsets are in its checkpoint",
    "auto.offset.reset": "a run begins where its checkpoint ends",
    "isolation.level": "records of aborted transactions are no records: it is read_committed",
    "key.deserializer": _OWNED, "value.deserializer": _OWNED,
}
"""Names that are known and not taken, and why."""
