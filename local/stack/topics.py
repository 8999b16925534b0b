"""`python -m local.stack.topics`: the pipelines' topics, Kafka's users with their passwords, and
what each of them may do.

By the administrator's certificate, over a listener of its own. Doing it again changes nothing; a
password becomes the file's.
"""

from __future__ import annotations

import sys
from pathlib import Path

from confluent_kafka import KafkaError, KafkaException
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
from confluent_kafka.cimpl import NewTopic

from spark_jobs.registry import find as registry
from spark_jobs.settings.kafka import properties_file

BROKER = "kafka:9094"
SECRETS = Path("/run/secrets")
PARTITIONS = 4
ITERATIONS = 4096
RIGHTS = {
    "sluice": AclOperation.READ,
    "views": AclOperation.DESCRIBE,
    "producer": AclOperation.WRITE,
}
"""The least that each user needs, on each topic: docs/deploy.md."""
FOREVER = {"retention.ms": "-1"}


def main() -> None:
    pem = SECRETS / "kafka_admin"
    admin = AdminClient(
        {
            "bootstrap.servers": BROKER,
            "security.protocol": "SSL",
            "ssl.ca.location": str(SECRETS / "kafka_ca"),
            "ssl.certificate.location": str(pem),
            "ssl.key.location": str(pem),
        }
    )
    topics = registry.topics()
    for user in RIGHTS:
        _user(admin, user)
    for topic in topics:
        _topic(admin, topic)
    rights = [
        _right(user, operation, topic) for user, operation in RIGHTS.items() for topic in topics
    ]
    for future in admin.create_acls(rights).values():
        future.result()
    sys.stdout.write(f"topics {', '.join(topics)}; users {', '.join(RIGHTS)}\n")


def _user(admin: AdminClient, name: str) -> None:
    declared = dict(properties_file.parse((SECRETS / f"kafka_{name}").read_text()))
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, ITERATIONS)
    wanted = UserScramCredentialUpsertion(name, info, declared["sasl.password"].encode())
    admin.alter_user_scram_credentials([wanted])[name].result()


def _topic(admin: AdminClient, name: str) -> None:
    try:
        admin.create_topics([NewTopic(name, PARTITIONS, 1, config=FOREVER)])[name].result()
    except KafkaException as problem:
        if problem.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise


def _right(user: str, operation: AclOperation, topic: str) -> AclBinding:
    return AclBinding(
        ResourceType.TOPIC,
        topic,
        ResourcePatternType.LITERAL,
        f"User:{user}",
        "*",
        operation,
        AclPermissionType.ALLOW,
    )


if __name__ == "__main__":
    main()
