"""Client: what each of librdkafka's clients here is made with."""

from __future__ import annotations

import os
import ssl
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spark_jobs.settings.installation import Settings
    from spark_jobs.settings.kafka.config import KafkaConfig

BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
"""The files of trusted authorities on Debian, Red Hat, SUSE and the BSDs."""


def client_options(settings: Settings) -> dict[str, Any]:
    """Its brokers, security and credentials; it logs nothing by itself. Any: librdkafka's
    properties are strings, numbers and callbacks.
    """
    config = settings.kafka_config
    own = {"bootstrap.servers": settings.kafka, "log_level": 0}
    return config.librdkafka() | authorities(config) | own


def authorities(config: KafkaConfig) -> dict[str, str]:
    """The authorities that this machine trusts, as a librdkafka property; empty if the declaration
    names its own.

    The libcurl in confluent_kafka's wheel looks only where Red Hat keeps them. On other systems it
    trusts no endpoint. A file replaces its own; a folder does not: libcurl still reads its own
    file, which does not exist there.
    """
    bundle = ssl.get_default_verify_paths().cafile or next(filter(os.path.exists, BUNDLES), None)
    needed = config.mechanism == "OAUTHBEARER" and "https.ca.pem" not in config.librdkafka()
    return {"https.ca.location": bundle} if needed and bundle else {}
