"""Translates an error with which brokers or TLS reject the client.

The result names the property or the right to correct.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterable

from confluent_kafka import KafkaError

from spark_jobs.errors import KafkaConfigInvalid, KafkaRefused, SluiceError
from spark_jobs.settings.installation import Settings
from spark_jobs.settings.kafka.config import KafkaConfig
from spark_jobs.source import token_endpoint

HANDSHAKE_SECONDS = 3.0
"""The time limit for reading one broker's certificate."""
ALERT = "SSL alert number"
"""librdkafka's text if a TLS server closed the connection with a reason (RFC 8446, 6.2).

Only then is the client the cause.
"""
MAX_CHARACTERS = 300
"""The length at which an error's text is cut: a token endpoint may answer with a whole HTML page.
"""
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
            return not token_endpoint.is_down(error)
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
            refused = missing_right("DESCRIBE", topic, settings)
        case "_AUTHENTICATION":
            refused = _authentication_failed(error, settings)
        case "_TRANSPORT":
            refused = _client_certificate_rejected(error, settings)
        case "_SSL":
            refused = _tls_failed(error, settings)
        case "_INVALID_ARG":
            source = _config_source(settings.kafka_config)
            return KafkaConfigInvalid.client_refuses_property(
                source=source, error=format_error(error)
            )
        case _:
            client = _client(settings.kafka_config)
            refused = (
                f"the brokers at {settings.kafka} do not allow this request to {client} "
                f"({format_error(error)}).",
                "Grant the rights that docs/deploy.md lists.",
            )
    return KafkaRefused(*refused)


def format_error(error: KafkaError) -> str:
    """The error's text on one line, at most MAX_CHARACTERS long."""
    return " ".join(error.str().split())[:MAX_CHARACTERS]


def missing_right(right: str, topic: str, settings: Settings) -> tuple[str, str]:
    """What and remedy of KafkaRefused for a missing right on the topic, with the command that
    grants it.
    """
    config = settings.kafka_config
    principal = f"User:{config.user}" if config.user else "User:..."
    # For a client without DESCRIBE, Kafka does not report whether the topic exists.
    or_missing = ", or the topic does not exist" if right == "DESCRIBE" else ""
    return (
        f"the brokers at {settings.kafka} do not allow {_client(config)} to {right} topic "
        f"{topic!r}{or_missing}.",
        f"Grant it: kafka-acls.sh --add --allow-principal '{principal}' --operation READ --topic "
        f"{topic}",
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


def _authentication_failed(error: KafkaError, settings: Settings) -> tuple[str, str]:
    config = settings.kafka_config
    if token_endpoint.is_not_trusted(error):
        return (
            f"the certificate of the token endpoint is not accepted ({format_error(error)}).",
            token_endpoint.certificate_remedy(error, _config_source(config)),
        )
    if config.mechanism == "OAUTHBEARER" and "token" in error.str().lower():
        return (
            f"the token endpoint gave no token to {_client(config)} ({format_error(error)}).",
            "Correct sasl.oauthbearer.client.id, sasl.oauthbearer.client.secret or "
            "sasl.oauthbearer.token.endpoint.url.",
        )
    properties = (
        "sasl.oauthbearer.*"
        if config.mechanism == "OAUTHBEARER"
        else "sasl.username and sasl.password"
    )
    return (
        f"the brokers at {settings.kafka} rejected {_client(config)} "
        f"({config.mechanism or config.protocol}): "
        f"{format_error(error)}.",
        f"Correct {properties} in {_config_source(config)}, or sasl.mechanism, or "
        "security.protocol.",
    )


def _client_certificate_rejected(error: KafkaError, settings: Settings) -> tuple[str, str]:
    config = settings.kafka_config
    names = "ssl.certificate.location and ssl.key.location"
    if "ssl.certificate.pem" in config.librdkafka():
        return (
            f"the brokers at {settings.kafka} did not accept the client's certificate "
            f"({format_error(error)}).",
            f"Correct {names} in {_config_source(config)}.",
        )
    return (
        f"the brokers at {settings.kafka} require a client certificate, and none is declared "
        f"({format_error(error)}).",
        f"Give {names} in {_config_source(config)}.",
    )


def _tls_failed(error: KafkaError, settings: Settings) -> tuple[str, str]:
    """What and remedy of a failed TLS handshake. librdkafka reports that a certificate was not
    verified, but not why.
    """
    config = settings.kafka_config
    for server in settings.kafka.split(","):
        host, _, port = server.strip().rpartition(":")
        problem = _certificate_problem(host.strip("[]"), int(port), config.authorities)
        if problem is None:
            continue
        what = f"the certificate of the broker at {server.strip()} is not accepted: {problem}."
        if "expired" in problem or "not yet valid" in problem:
            return what, "Renew the broker's certificate, or correct this machine's clock."
        if problem.startswith(("Hostname mismatch", "IP address mismatch")):
            return (
                what,
                "Name the broker in bootstrap.servers as its certificate does, or get one that "
                "has this name.",
            )
        if problem.startswith(ISSUERS):
            return (
                what,
                "Give the certificate of its authority in ssl.ca.location "
                f"({_config_source(config)}).",
            )
        return what, "Correct the certificate, or ssl.ca.location."
    return (
        f"TLS with the brokers at {settings.kafka} failed ({format_error(error)}).",
        "Correct security.protocol, ssl.certificate.location and ssl.key.location in "
        f"{_config_source(config)}.",
    )


def _certificate_problem(host: str, port: int, authorities: str) -> str | None:
    """Why OpenSSL does not trust the broker's certificate; None if it does, or if the broker does
    not answer.
    """
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
