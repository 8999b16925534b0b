"""Airflow's connection to Kafka: read without the Kafka provider, and passed to the process that a
task starts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowNotFoundException
from airflow.sdk.log import mask_secret

from sluice_airflow.connections.secret_folder import secret_folder, sweep
from spark_jobs.errors import KafkaConfigInvalid
from spark_jobs.registry import find as registry
from spark_jobs.settings.installation import Settings
from spark_jobs.settings.kafka.config import KafkaConfig
from spark_jobs.settings.roots import connection as named

CONNECTION = "sluice_kafka"
PREFIX = "sluice-kafka-"
"""The prefix of the folders with secrets for a child process."""
AN_OBJECT = (
    'Write it as one object: {"bootstrap.servers": "kafka-1.example:9093", '
    '"security.protocol": "SASL_SSL", ...}.'
)
_KINDS = {
    list: "a list",
    dict: "an object",
    str: "text",
    int: "a number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}


def settings_of(pipeline: str) -> Settings:
    """Settings of its cluster and root. Raises as task_settings, and as loading its spec."""
    spec = registry.load(pipeline)
    return task_settings(spec.inputs.cluster, spec.root, reads=spec.inputs.of_kafka)


def task_settings(cluster: str = "", root: str = "", *, reads: bool = True) -> Settings:
    """Settings of this cluster and this root, with the Kafka declaration of the connection
    sluice_kafka, or the cluster's, if Airflow has it. `reads`: whether brokers are asked.

    Raises KafkaConfigInvalid or SettingInvalid. Airflow masks the declaration's secrets in the log
    of this task, except those shorter than `[logging] min_length_masked_secret` (5). It removes the
    secret folders of killed tasks.
    """
    sweep(PREFIX)
    settings = Settings.from_environment(kafka_connection(cluster), cluster, root, reads=reads)
    for secret in settings.kafka_config.secrets():
        # Masking works on one line of a log, and a key has many. Its first and last line are no
        # secret.
        lines = [line for line in secret.splitlines() if not line.startswith("-----")]
        for part in lines if secret.startswith("-----BEGIN") else [secret]:
            mask_secret(part)
    return settings


def kafka_connection(cluster: str = "") -> KafkaConfig | None:
    """The Kafka declaration in the connection; None without a connection.

    Raises KafkaConfigInvalid.
    """
    name = named(CONNECTION, cluster)
    try:
        connection = BaseHook.get_connection(name)
    except AirflowNotFoundException:
        return None
    source = f"connection {name!r}"
    if connection.conn_type != "kafka":
        raise KafkaConfigInvalid.not_a_kafka_connection(source=source, kind=connection.conn_type)
    for field in ("host", "login", "password", "schema", "port"):
        if getattr(connection, field):
            raise KafkaConfigInvalid.field_outside_extra(source=source, field=field)
    return KafkaConfig.of(_properties(connection.extra, source), source)


@contextmanager
def config_in_file(settings: Settings) -> Iterator[Settings]:
    """Yields settings that a child process can get: inside the block, a Kafka declaration from
    Airflow is in a file.

    Only the owner can read the file and its folder; the end of the block removes both. If this
    process is killed, a later plan or drain task of this user on this machine removes the folder
    once it is a minute old (secret_folder.py).
    """
    if settings.kafka_config.path or not settings.kafka_config:
        yield settings
        return
    with secret_folder(PREFIX) as folder:
        yield settings._replace(
            kafka_config=settings.kafka_config.write_to(folder / "kafka.properties")
        )


def _properties(extra: str | None, source: str) -> dict[str, str]:
    """Raises KafkaConfigInvalid. Airflow's extra_dejson turns an extra that does not parse into {},
    which means a Kafka without security.
    """
    try:
        properties = json.loads(extra) if extra else {}
    except ValueError as error:
        at = (
            f" ({error.msg}, line {error.lineno})"
            if isinstance(error, json.JSONDecodeError)
            else ""
        )
        raise KafkaConfigInvalid.extra_not_json(
            source=source,
            at=at,
            remedy=AN_OBJECT,
        ) from None
    if not isinstance(properties, dict):
        raise KafkaConfigInvalid.extra_no_object(
            source=source,
            kind=_KINDS[type(properties)],
            remedy=AN_OBJECT,
        )
    for name, value in properties.items():
        if not isinstance(value, str | int | float):
            raise KafkaConfigInvalid.property_no_scalar(
                source=source,
                name=name,
                kind=_KINDS[type(value)],
            )
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in properties.items()
    }
