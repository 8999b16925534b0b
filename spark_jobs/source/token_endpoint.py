"""The token endpoint of OAUTHBEARER: classifies the errors of librdkafka, and of its libcurl, when
it gets no token.

The error text is the only information. Measured with librdkafka 2.16.0;
tests/unit/test_token_endpoint.py checks it.
"""

from __future__ import annotations

import re

from confluent_kafka import KafkaError

from spark_jobs.settings.kafka.config import KafkaConfig

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
