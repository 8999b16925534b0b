"""A real broker with an authorizer, and a listener for each way of being let in or turned away."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from local import broker
from local.ports import free_port
from local.properties import Secured
from spark_jobs.settings.installation import REPO
from spark_jobs.settings.kafka.config import ALLOWED_URLS
from tests.harness.certificates import HERE, Authority
from tests.harness.token_server import AUDIENCE, Issuer, serving

PROTOCOLS = {
    "tls": "SSL",
    "mutual": "SSL",
    "expired": "SSL",
    "elsewhere": "SSL",
    "sasl": "SASL_SSL",
}
TRIES = 4
JAAS = "org.apache.kafka.common.security"


class Broker(NamedTuple):
    """One that runs."""

    admin: str
    """The plain listener, on which everything is allowed: a test sets the broker up through it."""
    ports: dict[str, int]
    """Listener -> port: tls, mutual, sasl; expired and elsewhere have wrong certificates."""
    files: Path
    """ca.crt, stranger.crt (another authority's), reader.key/.crt/.pem, hidden.key (a password)."""
    token_url: str

    def at(self, listener: str) -> str:
        """Its bootstrap servers."""
        return f"127.0.0.1:{self.ports[listener]}"

    def scram_user(self, name: str, password: str) -> None:
        """A user, made or with a new password, of SCRAM-SHA-256 and SCRAM-SHA-512."""
        made = [
            UserScramCredentialUpsertion(
                name, ScramCredentialInfo(mechanism, 4096), password.encode()
            )
            for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512)
        ]
        client = self._client()  # which must outlive the answer
        for one in made:
            client.alter_user_scram_credentials([one])[name].result()

    def allow(self, user: str, operation: AclOperation, topic: str) -> None:
        """One right more."""
        client = self._client()
        client.create_acls([acl := _acl(user, operation, topic)])[acl].result()

    def _client(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.admin, "log_level": 0})


def _acl(user: str, operation: AclOperation, topic: str) -> AclBinding:
    return AclBinding(
        ResourceType.TOPIC,
        topic,
        ResourcePatternType.LITERAL,
        f"User:{user}",
        "*",
        operation,
        AclPermissionType.ALLOW,
    )


@contextmanager
def running(home: Path, plain: dict[str, str], issuer: Issuer) -> Iterator[Broker]:
    """The broker, with the users of `plain` (name -> password), and the issuer's tokens."""
    files = home / "files"
    files.mkdir(parents=True)
    stores = _certificates(files)
    (files / "keys.json").write_text(issuer.keys())
    try:
        with patch.dict(os.environ, JDK_JAVA_OPTIONS=f"-D{ALLOWED_URLS}=file://{files}/keys.json"):
            admin, ports = _started(home / "kafka", _properties(files, stores, plain))
        with serving(issuer, stores["tls"]) as url:
            yield Broker(admin, ports, files, url)
    finally:
        broker.stop(home / "kafka")


def _started(home: Path, properties: str) -> tuple[str, dict[str, int]]:
    """The plain listener's address, and the others' ports, which somebody may take before."""
    for left in reversed(range(TRIES)):
        listeners = {name.upper(): (protocol, free_port(0)) for name, protocol in PROTOCOLS.items()}
        try:
            admin = broker.start(home, REPO / "jars" / "kafka", Secured(listeners, properties))
        except broker.BrokerError as error:
            if not left or "already in use" not in str(error):
                raise
        else:
            return admin, {name.lower(): port for name, (_, port) in listeners.items()}
    raise AssertionError


def _certificates(files: Path) -> dict[str, Path]:
    """Write them all; listener -> its key and certificate in one file."""
    authority, stranger = Authority("Sluice's tests"), Authority("a stranger")
    (files / "ca.crt").write_text(authority.certificate)
    (files / "stranger.crt").write_text(stranger.certificate)
    authority.pair("mutual").write(files, "reader")
    authority.pair("mutual", password="opens the key").write(files, "hidden")
    server = authority.pair("broker", hosts=HERE).write(files, "broker")[2]
    return {
        "tls": server,
        "mutual": server,
        "sasl": server,
        "expired": authority.pair("broker", hosts=HERE, lives=timedelta(days=-1)).write(files, "expired")[2],
        "elsewhere": authority.pair("broker", hosts=("elsewhere.example",)).write(files, "elsewhere")[2],
    }  # fmt: skip


def _properties(files: Path, stores: dict[str, Path], plain: dict[str, str]) -> str:
    users = " ".join(f'user_{name}="{password}"' for name, password in plain.items())
    sasl = "listener.name.sasl."
    lines = [
        "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users=User:ANONYMOUS",
        "ssl.keystore.type=PEM",
        "ssl.truststore.type=PEM",
        f"ssl.truststore.location={files}/ca.crt",
        *(f"listener.name.{name}.ssl.keystore.location={store}" for name, store in stores.items()),
        "listener.name.mutual.ssl.client.auth=required",
        r"ssl.principal.mapping.rules=RULE:^CN=([^,]+).*$/$1/",
        f"{sasl}sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
        f"{sasl}plain.sasl.jaas.config={JAAS}.plain.PlainLoginModule required {users};",
        *(f"{sasl}scram-sha-{bits}.sasl.jaas.config={JAAS}.scram.ScramLoginModule required;" for bits in (256, 512)),
        f"{sasl}oauthbearer.sasl.jaas.config={JAAS}.oauthbearer.OAuthBearerLoginModule required;",
        f"{sasl}oauthbearer.sasl.server.callback.handler.class={JAAS}.oauthbearer.OAuthBearerValidatorCallbackHandler",
        f"{sasl}oauthbearer.sasl.oauthbearer.jwks.endpoint.url=file://{files}/keys.json",
        f"{sasl}oauthbearer.sasl.oauthbearer.expected.audience={AUDIENCE}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"
