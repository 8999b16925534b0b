"""Airflow's connection to Kafka, read without its provider, and handed to the process that a task starts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowNotFoundException
from airflow.sdk.log import mask_secret

from sluice_airflow.secret_folder import secret_folder, sweep
from spark_jobs.contract.errors import KafkaConfigInvalid
from spark_jobs.contract.kafka.config import KafkaConfig
from spark_jobs.contract.settings import Settings

CONNECTION = "sluice_kafka"
PREFIX = "sluice-kafka-"
"""Of the folders in which secrets are handed over."""
AN_OBJECT = 'Write it as one object: {"bootstrap.servers": "kafka-1.example:9093", "security.protocol": "SASL_SSL", ...}.'
_KINDS = {list: "a list", dict: "an object", str: "text", int: "a number", float: "a number", bool: "true or false",
          type(None): "null"}


def task_settings() -> Settings:
    """The installation's settings, with Kafka as the connection declares it, where there is one.

    Raises KafkaConfigInvalid or SettingInvalid. The declaration's secrets are masked in whatever this task logs, but for those
    that Airflow takes for too short (`[logging] min_length_masked_secret`, 5). What a killed task has left is removed.
    """
    sweep(PREFIX)
    settings = Settings.from_environment(declared())
    for secret in settings.kafka_config.secrets():
        # A key has many lines, and a log has one at a time. Its first and last say that it is one, and are no secret.
        lines = [line for line in secret.splitlines() if not line.startswith("-----")]
        for part in lines if secret.startswith("-----BEGIN") else [secret]:
            mask_secret(part)
    return settings


def declared() -> KafkaConfig | None:
    """What the connection says; None where there is none. Raises KafkaConfigInvalid."""
    try:
        connection = BaseHook.get_connection(CONNECTION)
    except AirflowNotFoundException:
        return None
    source = f"connection {CONNECTION!r}"
    if connection.conn_type != "kafka":
        raise KafkaConfigInvalid(f"{source} has type {connection.conn_type!r}: it is not one to Kafka.",
                                 "Give it type 'kafka'.")
    for field in ("host", "login", "password", "schema", "port"):
        if getattr(connection, field):
            raise KafkaConfigInvalid(
                f"{source} has a {field}, which Airflow's Kafka connections leave unread: all is in extra.",
                "Put it into extra: bootstrap.servers, sasl.username, sasl.password.")
    return KafkaConfig.of(_properties(connection.extra, source), source)


@contextmanager
def handed_over(settings: Settings) -> Iterator[Settings]:
    """The settings as another process can be given them: a declaration that is in no file yet is in one within the block.

    The file is its owner's alone, in a folder that is too, and goes with the block. Where this process is killed, the next
    task of this user on this machine that asks for its settings, plan or drain of any pipeline, removes the folder once it is
    a minute old (secret_folder.py).
    """
    if settings.kafka_config.path or not settings.kafka_config.librdkafka():
        yield settings
        return
    with secret_folder(PREFIX) as folder:
        yield settings._replace(kafka_config=settings.kafka_config.kept_at(folder / "kafka.properties"))


def _properties(extra: str | None, source: str) -> dict[str, str]:
    """What `extra` says, as a properties file would have it: JSON has booleans and numbers.

    Not by Airflow's extra_dejson: of an extra that does not parse it makes an empty one, and so a Kafka without security.
    """
    try:
        found = json.loads(extra) if extra else {}
    except ValueError as error:
        at = f" ({error.msg}, line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise KafkaConfigInvalid(f"{source}: extra is no JSON{at}.", AN_OBJECT) from None
    if not isinstance(found, dict):
        raise KafkaConfigInvalid(f"{source}: extra is {_KINDS[type(found)]} and not an object.", AN_OBJECT)
    for name, value in found.items():
        if not isinstance(value, str | int | float):
            raise KafkaConfigInvalid(f"{source}: {name} is {_KINDS[type(value)]}: a property is text, a number, true or false.",
                                     "Give it as text, or leave it out.")
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in found.items()}
