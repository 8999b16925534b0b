"""Refusal: what a broker, or its certificate, said no to, as an error that names the property or the right that would help."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterable

from confluent_kafka import KafkaError

from spark_jobs.contract.errors import KafkaConfigInvalid, KafkaRefused, SluiceError
from spark_jobs.contract.kafka.config import KafkaConfig
from spark_jobs.contract.settings import Settings
from spark_jobs.source import token_endpoint

LOOK_SECONDS = 3.0
"""For a look at one broker's certificate."""
ALERT = "SSL alert number"
"""In what librdkafka says of a TLS server that hung up with a reason (RFC 8446, 6.2): only then is it about the client."""
SAID = 300
"""Characters of what a client or a server said that are passed on: a token endpoint may answer with a whole page."""
ISSUERS = ("unable to get local issuer certificate", "self-signed certificate", "self signed certificate",
           "unable to get issuer certificate")
"""How OpenSSL says that nobody known vouches for a certificate (X509_verify_cert_error_string)."""


def is_refusal(error: KafkaError) -> bool:
    """Whether it means that trying again would not help."""
    match error.name():
        case "_AUTHENTICATION":
            return not token_endpoint.is_down(error)
        case "_TRANSPORT":
            return ALERT in error.str()
        case name:
            return name in ("_SSL", "_INVALID_ARG") or name.endswith("AUTHORIZATION_FAILED")


def refusal(said: Iterable[KafkaError], topic: str, settings: Settings) -> SluiceError | None:
    """The error that these mean, of librdkafka or the broker; None where they are no refusal."""
    error = next(filter(is_refusal, said), None)
    if error is None:
        return None
    match error.name():
        case "TOPIC_AUTHORIZATION_FAILED":
            words = may_not("DESCRIBE", topic, settings)
        case "_AUTHENTICATION":
            words = _not_let_in(error, settings)
        case "_TRANSPORT":
            words = _certificate_wanted(error, settings)
        case "_SSL":
            words = _not_trusted(error, settings)
        case "_INVALID_ARG":
            return KafkaConfigInvalid(f"Kafka's client does not take what {_declared(settings.kafka_config)} says: "
                                      f"{told(error)}.", "Correct the property that it names.")
        case _:
            words = (f"the brokers at {settings.kafka} do not allow {_whom(settings.kafka_config)} this ({told(error)}).",
                     "Grant the rights that docs/kafka.md lists.")
    return KafkaRefused(*words)


def told(error: KafkaError) -> str:
    """What it says, on one line and no longer than a person reads."""
    return " ".join(error.str().split())[:SAID]


def may_not(right: str, topic: str, settings: Settings) -> tuple[str, str]:
    """That a right on the topic is missing, and the command that grants it."""
    config = settings.kafka_config
    principal = f"User:{config.user}" if config.user else "User:..."
    return (
        f"the brokers at {settings.kafka} do not allow {_whom(config)} to {right} topic {topic!r}, or there is no such topic."
        if right == "DESCRIBE" else f"the brokers at {settings.kafka} do not allow {_whom(config)} to {right} topic {topic!r}.",
        f"Grant it: kafka-acls.sh --add --allow-principal '{principal}' --operation READ --topic {topic}",
    )


def _whom(config: KafkaConfig) -> str:
    if config.user:
        return f"user {config.user!r}"
    return "the client of ssl.certificate" if "ssl.certificate.pem" in config.librdkafka() else "an unnamed client"


def _declared(config: KafkaConfig) -> str:
    return config.path or "the declaration"


def _not_let_in(error: KafkaError, settings: Settings) -> tuple[str, str]:
    config = settings.kafka_config
    if token_endpoint.is_not_trusted(error):
        return (f"the certificate of the token endpoint is not accepted ({told(error)}).",
                token_endpoint.trust(error, _declared(config)))
    if config.mechanism == "OAUTHBEARER" and "token" in error.str().lower():
        return (f"the token endpoint gave no token to {_whom(config)} ({told(error)}).",
                "Correct sasl.oauthbearer.client.id, sasl.oauthbearer.client.secret or sasl.oauthbearer.token.endpoint.url.")
    what = "sasl.oauthbearer.*" if config.mechanism == "OAUTHBEARER" else "sasl.username and sasl.password"
    return (f"the brokers at {settings.kafka} did not let {_whom(config)} in by {config.mechanism or config.protocol} "
            f"({told(error)}).",
            f"Correct {what} in {_declared(config)}, or sasl.mechanism, or security.protocol.")


def _certificate_wanted(error: KafkaError, settings: Settings) -> tuple[str, str]:
    config = settings.kafka_config
    names = "ssl.certificate.location and ssl.key.location"
    if "ssl.certificate.pem" in config.librdkafka():
        return (f"the brokers at {settings.kafka} did not accept the client's certificate ({told(error)}).",
                f"Correct {names} in {_declared(config)}.")
    return (f"the brokers at {settings.kafka} want a certificate of the client, and none is declared ({told(error)}).",
            f"Give {names} in {_declared(config)}.")


def _not_trusted(error: KafkaError, settings: Settings) -> tuple[str, str]:
    """Why TLS failed: librdkafka says that a certificate was not verified, and not why."""
    config = settings.kafka_config
    for server in settings.kafka.split(","):
        host, _, port = server.strip().rpartition(":")
        why = _certificate_fault(host.strip("[]"), int(port), config.authorities)
        if why is None:
            continue
        at = f"the certificate of the broker at {server.strip()} is not accepted: {why}."
        if "expired" in why or "not yet valid" in why:
            return at, "Renew the broker's certificate, or correct this machine's clock."
        if why.startswith(("Hostname mismatch", "IP address mismatch")):
            return at, "Name the broker in bootstrap.servers as its certificate does, or have its name put there."
        if why.startswith(ISSUERS):
            return at, f"Give the certificate of its authority in ssl.ca.location ({_declared(config)})."
        return at, "Correct the certificate, or ssl.ca.location."
    return (f"TLS with the brokers at {settings.kafka} failed ({told(error)}).",
            f"Correct security.protocol, ssl.certificate.location and ssl.key.location in {_declared(config)}.")


def _certificate_fault(host: str, port: int, authorities: str) -> str | None:
    """What OpenSSL finds wrong with the broker's certificate; None where that is nothing, or nobody answers."""
    context = ssl.create_default_context(cadata=authorities or None)
    try:
        with socket.create_connection((host, port), LOOK_SECONDS) as plain, context.wrap_socket(plain, server_hostname=host):
            return None
    except ssl.SSLCertVerificationError as error:
        return str(error.verify_message)
    except OSError:
        return None
