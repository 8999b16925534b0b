"""Airflow's connection to Kafka, read without its provider, and handed to the process that a task starts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowNotFoundException
from airflow.sdk.log import mask_secret

from sluice_airflow.secret_folder import secret_folder, sweep
from spark_jobs.contract.errors import KafkaConfigInvalid
from spark_jobs.contract.kafka_config import KafkaConfig
from spark_jobs.contract.settings import Settings

CONNECTION = "sluice_kafka"
PREFIX = "sluice-kafka-"
"""Of the folders in which secrets are handed over."""


def task_settings() -> Settings:
    """The installation's settings, with Kafka as the connection declares it, where there is one.

    Raises KafkaConfigInvalid or SettingInvalid. The declaration's secrets are masked in whatever this task logs.
    """
    settings = Settings.from_environment(declared())
    for secret in settings.kafka_config.secrets():
        mask_secret(secret)
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
    return KafkaConfig.of({name: _text(value) for name, value in connection.extra_dejson.items()}, source)


@contextmanager
def handed_over(settings: Settings) -> Iterator[Settings]:
    """The settings as another process can be given them: a declaration that is in no file yet is in one within the block.

    The file is its owner's alone, in a folder that is too, and goes with the block. Where this process is killed, the next
    task of this user on this machine removes the folder: nobody holds its lock any more.
    """
    sweep(PREFIX)
    if settings.kafka_config.path or not settings.kafka_config.librdkafka():
        yield settings
        return
    with secret_folder(PREFIX) as folder:
        yield settings._replace(kafka_config=settings.kafka_config.kept_at(folder / "kafka.properties"))


def _text(value: Any) -> str:
    """As a properties file would have it: JSON has booleans and numbers."""
    return str(value).lower() if isinstance(value, bool) else str(value)
