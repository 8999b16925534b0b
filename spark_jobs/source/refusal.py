"""Translates an error with which brokers or TLS reject the client.

The result names the property or the right to correct.
"""

from __future__ import annotations

import difflib
import re
import socket
import ssl
from collections.abc import Iterable
from contextlib import suppress

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from spark_jobs.errors import (
    KafkaConfigInvalid,
    KafkaRefused,
    KafkaUnreachable,
    SluiceError,
    TopicMissing,
)
from spark_jobs.settings.installation import Settings
from spark_jobs.settings.kafka.config import KafkaConfig
from spark_jobs.source.topic_state import TIMEOUT_SECONDS

HANDSHAKE_SECONDS = 3.0
"""The time limit for reading one broker's certificate."""
ALERT = "SSL alert number"
"""librdkafka's text if a TLS server closed the connection with a reason (RFC 8446, 6.2).

Only then is the client the cause.
"""
MAX_CHARACTERS = 300
"""The length at which an error's text is cut: a token endpoint may answer with a whole HTML page.
"""
HTTP = int.from_bytes(b"HTTP")
"""Of an answer by HTTP, librdkafka takes the first bytes for a size that is too large."""
ISSUERS = (
    "unable to get local issuer certificate",
    "self-signed certificate",
    "self signed certificate",
    "unable to get issuer certificate",
)
"""OpenSSL's texts for a certificate of an unknown authority (X509_verify_cert_error_string)."""


def is_refusal(error: KafkaError) -> bool:
    """Whether the client was rejected, so that a retry cannot help."""
    match error.name():
        case "_AUTHENTICATION":
            return not is_down(error)
        case "_TRANSPORT":
            return ALERT in error.str()
        case name:
            return name in ("_SSL", "_INVALID_ARG") or name.endswith("AUTHORIZATION_FAILED")


def refusal(errors: Iterable[KafkaError], topic: str, settings: Settings) -> SluiceError | None:
    """KafkaRefused or KafkaConfigInvalid for the first rejection among the client's errors; None if
    there is none.
    """
    error = next(filter(is_refusal, errors), None)
    if error is None:
        return None
    match error.name():
        case "TOPIC_AUTHORIZATION_FAILED":
            refused: SluiceError = missing_right("DESCRIBE", topic, settings)
        case "_AUTHENTICATION":
            refused = _authentication_failed(error, settings)
        case "_TRANSPORT":
            refused = _client_certificate_rejected(error, settings)
        case "_SSL":
            refused = _tls_failed(error, settings)
        case "_INVALID_ARG":
            source = _config_source(settings.kafka_config)
            refused = KafkaConfigInvalid.client_refuses_property(
                source=source, error=format_error(error)
            )
        case _:
            refused = KafkaRefused.request_not_allowed(
                brokers=settings.kafka,
                client=_client(settings.kafka_config),
                error=format_error(error),
            )
    return refused


def translated(
    client: AdminClient | None, errors: list[KafkaError], topic: str, settings: Settings
) -> SluiceError:
    """What an admin client's errors mean, the raised one first."""
    raised, *earlier = errors
    if raised.name() == "UNKNOWN_TOPIC_OR_PART":
        return _missing(client, settings.kafka, topic)
    if refused := refusal(errors, topic, settings):
        return refused
    last = next((one for one in reversed(earlier) if one.name() != "_ALL_BROKERS_DOWN"), None)
    return KafkaUnreachable.no_broker(
        brokers=settings.kafka,
        seconds=TIMEOUT_SECONDS,
        error=format_error(last or raised),
        remedy=unreachable_remedy(last, settings.kafka_config),
    )


def _missing(client: AdminClient | None, brokers: str, topic: str) -> TopicMissing:
    names = list[str]()
    if client is not None:
        with suppress(KafkaException):
            names = [*client.list_topics(timeout=TIMEOUT_SECONDS).topics]
    close = difflib.get_close_matches(topic, names, n=1)
    nearest = f"; the nearest name there is {close[0]!r}" if close else ""
    return TopicMissing.topic_absent(brokers=brokers, topic=topic, nearest=nearest)


def format_error(error: KafkaError) -> str:
    """The error's text on one line, at most MAX_CHARACTERS long."""
    if f"Invalid response size {HTTP} " in error.str():
        return "a server of HTTP answers there, and no broker"
    return " ".join(error.str().split())[:MAX_CHARACTERS]


def missing_right(right: str, topic: str, settings: Settings) -> KafkaRefused:
    """For a missing right on the topic, with the command that grants it."""
    config = settings.kafka_config
    principal = f"User:{config.user}" if config.user else "User:..."
    # For a client without DESCRIBE, Kafka does not report whether the topic exists.
    or_missing = ", or the topic does not exist" if right == "DESCRIBE" else ""
    return KafkaRefused.right_missing(
        brokers=settings.kafka,
        client=_client(config),
        right=right,
        topic=topic,
        or_missing=or_missing,
        principal=principal,
    )


def _client(config: KafkaConfig) -> str:
    if config.user:
        return f"user {config.user!r}"
    return (
        "the client of ssl.certificate"
        if "ssl.certificate.pem" in config.librdkafka()
        else "an unnamed client"
    )


def _config_source(config: KafkaConfig) -> str:
    return config.path or "the declaration"


def _authentication_failed(error: KafkaError, settings: Settings) -> KafkaRefused:
    config = settings.kafka_config
    if is_not_trusted(error):
        return KafkaRefused.endpoint_certificate(
            error=format_error(error),
            remedy=certificate_remedy(error, _config_source(config)),
        )
    if config.mechanism == "OAUTHBEARER" and "token" in error.str().lower():
        return KafkaRefused.no_token(client=_client(config), error=format_error(error))
    properties = (
        "sasl.oauthbearer.*"
        if config.mechanism == "OAUTHBEARER"
        else "sasl.username and sasl.password"
    )
    return KafkaRefused.client_rejected(
        brokers=settings.kafka,
        client=_client(config),
        mechanism=config.mechanism or config.protocol,
        error=format_error(error),
        properties=properties,
        source=_config_source(config),
    )


def _client_certificate_rejected(error: KafkaError, settings: Settings) -> KafkaRefused:
    config = settings.kafka_config
    declared = "ssl.certificate.pem" in config.librdkafka()
    refused = KafkaRefused.certificate_rejected if declared else KafkaRefused.certificate_needed
    return refused(brokers=settings.kafka, error=format_error(error), source=_config_source(config))


def _tls_failed(error: KafkaError, settings: Settings) -> KafkaRefused:
    """librdkafka reports that a certificate was not verified, but not why."""
    config = settings.kafka_config
    for server in settings.kafka.split(","):
        host, _, port = server.strip().rpartition(":")
        problem = _certificate_problem(host.strip("[]"), int(port), config.authorities)
        if problem is None:
            continue
        broker = server.strip()
        if "expired" in problem or "not yet valid" in problem:
            return KafkaRefused.broker_certificate_dates(broker=broker, problem=problem)
        if problem.startswith(("Hostname mismatch", "IP address mismatch")):
            return KafkaRefused.broker_certificate_name(broker=broker, problem=problem)
        if problem.startswith(ISSUERS):
            return KafkaRefused.broker_certificate_authority(
                broker=broker, problem=problem, source=_config_source(config)
            )
        return KafkaRefused.broker_certificate(broker=broker, problem=problem)
    return KafkaRefused.tls_failed(
        brokers=settings.kafka, error=format_error(error), source=_config_source(config)
    )


def _certificate_problem(host: str, port: int, authorities: str) -> str | None:
    """None if OpenSSL trusts it, or if the broker does not answer."""
    context = ssl.create_default_context(cadata=authorities or None)
    try:
        with (
            socket.create_connection((host, port), HANDSHAKE_SECONDS) as plain,
            context.wrap_socket(plain, server_hostname=host),
        ):
            return None
    except ssl.SSLCertVerificationError as error:
        return str(error.verify_message)
    except OSError:
        return None


# The token endpoint of OAUTHBEARER. The error text of librdkafka, and of its libcurl, is the only
# information. Measured with librdkafka 2.16.0; tests/unit/test_token_endpoint.py checks it.
URL = "sasl.oauthbearer.token.endpoint.url"
DOWN = re.compile(
    r"OAUTHBEARER token: (?:Failed to connect|Could not (?:connect|resolve)|Connection (?:timed "
    r"out|refused|reset|died)|"
    r"Operation timed out|Resolving timed out|(?:Recv|Send) failure|Empty reply|end of "
    r"response|OpenSSL SSL_connect|"
    r"TLS connect error: .*unexpected eof)"
)
"""The endpoint does not answer.

Matches only the beginning of libcurl's text: for a status of 400 to 499 the text is the response's
body, which may contain anything. For 429 and 500 to 599 librdkafka reports nothing and tries again.
"""
NOT_TRUSTED = re.compile(r"OAUTHBEARER token: (?:SSL certificate |SSL: |error (?:adding|setting) )")
"""The endpoint's certificate is not trusted, or the file of trusted authorities cannot be read."""


def is_down(error: KafkaError) -> bool:
    """Whether the endpoint did not answer. A retry can help."""
    return bool(DOWN.search(error.str()))


def is_not_trusted(error: KafkaError) -> bool:
    """Whether the endpoint's certificate is not trusted."""
    return bool(NOT_TRUSTED.search(error.str()))


def certificate_remedy(error: KafkaError, config_source: str) -> str:
    """The remedy for a certificate that is not trusted.

    `config_source` names the Kafka declaration.
    """
    if "expired" in error.str() or "not yet valid" in error.str():
        return "Renew the endpoint's certificate, or correct this machine's clock."
    if "OAUTHBEARER token: SSL: " in error.str():
        return f"Name the host in {URL} as its certificate does, or get one that has this name."
    return f"Give the certificate of its authority in https.ca.location ({config_source})."


def unreachable_remedy(last: KafkaError | None, config: KafkaConfig) -> str:
    """The remedy if no broker answered. `last` is the client's last error, if any.

    While the client waits for a token, it connects to no broker: then the endpoint may be the
    cause.
    """
    if last and is_down(last):
        return f"Check that the token endpoint answers ({URL})."
    endpoint = (
        f", or that the token endpoint answers ({URL})"
        if last is None and config.mechanism == "OAUTHBEARER"
        else ""
    )
    return (
        f"Check that Kafka runs and that SLUICE_KAFKA, or the named cluster's, is right{endpoint}."
    )
