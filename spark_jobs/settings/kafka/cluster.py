"""Cluster: by which names an installation declares the brokers of a topic's `cluster`."""

from __future__ import annotations


def variable(name: str, cluster: str) -> str:
    """The environment variable; without a cluster the installation's own.

    >>> variable("SLUICE_KAFKA", "eu"), variable("SLUICE_KAFKA", "")
    ('SLUICE_KAFKA__EU', 'SLUICE_KAFKA')
    """
    return f"{name}__{cluster.upper()}" if cluster else name


def connection(name: str, cluster: str) -> str:
    """Airflow's connection.

    >>> connection("sluice_kafka", "eu"), connection("sluice_kafka", "")
    ('sluice_kafka_eu', 'sluice_kafka')
    """
    return f"{name}_{cluster}" if cluster else name
