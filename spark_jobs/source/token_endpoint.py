"""The token endpoint of OAUTHBEARER: what librdkafka, and the libcurl in it, say of one that gives no token.

Their words are the only sign. Read off librdkafka 2.16.0, by tests/unit/test_token_endpoint.py.
"""

from __future__ import annotations

import os
import re
import ssl

from confluent_kafka import KafkaError

from spark_jobs.contract.kafka.config import KafkaConfig

URL = "sasl.oauthbearer.token.endpoint.url"
DOWN = re.compile(
    r"OAUTHBEARER token: (?:Failed to connect|Could not (?:connect|resolve)|Connection (?:timed out|refused|reset|died)|"
    r"Operation timed out|Resolving timed out|(?:Recv|Send) failure|Empty reply|end of response|OpenSSL SSL_connect|"
    r"TLS connect error: .*unexpected eof)")
"""Nobody was there to give one. Only as libcurl begins: an answer of status 400 to 499 is told by its body, which may say
anything. Of 429 and 500 to 599 nothing is told: librdkafka asks again."""
NOT_TRUSTED = re.compile(r"OAUTHBEARER token: (?:SSL certificate |SSL: |error (?:adding|setting) )")
"""Its certificate was not accepted, or the authorities could not be read."""
BUNDLES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
           "/etc/ssl/cert.pem")
"""Where Debian, Red Hat, SUSE and the BSDs keep the authorities that they trust."""


def is_down(error: KafkaError) -> bool:
    """Whether nobody was there: trying again can help."""
    return bool(DOWN.search(error.str()))


def is_not_trusted(error: KafkaError) -> bool:
    """Whether its certificate was not accepted."""
    return bool(NOT_TRUSTED.search(error.str()))


def trust(error: KafkaError, declared: str) -> str:
    """What would have its certificate accepted. `declared` is where the declaration stands."""
    if "expired" in error.str() or "not yet valid" in error.str():
        return "Renew the endpoint's certificate, or correct this machine's clock."
    if "OAUTHBEARER token: SSL: " in error.str():
        return f"Name the host in {URL} as its certificate does, or have its name put there."
    return f"Give the certificate of its authority in https.ca.location ({declared})."


def what_may_be_down(last: KafkaError | None, config: KafkaConfig) -> str:
    """What to look at where no broker answered, and the client said this or nothing: waiting for a token, it speaks to none."""
    if last and is_down(last):
        return f"Check that the token endpoint answers ({URL})."
    either = f", or that the token endpoint answers ({URL})" if last is None and config.mechanism == "OAUTHBEARER" else ""
    return f"Check that Kafka runs and that SLUICE_KAFKA is right{either}."


def authorities(config: KafkaConfig) -> dict[str, str]:
    """Who vouches for it where the declaration does not say: whom this machine trusts.

    The libcurl in confluent_kafka's wheel looks where Red Hat keeps them, and on other machines trusts no endpoint at all. It
    takes a file; a folder it takes beside its own file, which is not there.
    """
    place = ssl.get_default_verify_paths().cafile or next(filter(os.path.exists, BUNDLES), None)
    needed = config.mechanism == "OAUTHBEARER" and "https.ca.pem" not in config.librdkafka()
    return {"https.ca.location": place} if needed and place else {}
