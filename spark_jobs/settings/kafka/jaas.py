"""JAAS: the property sasl.jaas.config, in which Java's Kafka client has users, passwords and client
secrets (kafka-clients' org.apache.kafka.common.security.JaasConfig).
"""

from __future__ import annotations

from collections.abc import Mapping

SECURITY = "org.apache.kafka.common.security"
_SCRAM = f"{SECURITY}.scram.ScramLoginModule"
MODULES = {
    "PLAIN": f"{SECURITY}.plain.PlainLoginModule",
    "SCRAM-SHA-256": _SCRAM,
    "SCRAM-SHA-512": _SCRAM,
    "OAUTHBEARER": f"{SECURITY}.oauthbearer.OAuthBearerLoginModule",
}
"""SASL mechanism -> Kafka's login module for it."""


def render(mechanism: str, options: Mapping[str, str]) -> str:
    """The property's value for one mechanism. It escapes the options' values."""
    words = [f'{name}="{_escaped(value)}"' for name, value in options.items()]
    return f"{' '.join([MODULES[mechanism], 'required', *words])};"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
