"""Named: by which names an installation declares what a spec names: a topic's cluster, a root."""

from __future__ import annotations


def variable(name: str, of: str) -> str:
    """The environment variable; without a name the installation's own.

    >>> variable("SLUICE_KAFKA", "eu"), variable("SLUICE_ROOT", "")
    ('SLUICE_KAFKA__EU', 'SLUICE_ROOT')
    """
    return f"{name}__{of.upper()}" if of else name


def connection(name: str, of: str) -> str:
    """Airflow's connection.

    >>> connection("sluice_kafka", "eu"), connection("sluice_root", "")
    ('sluice_kafka_eu', 'sluice_root')
    """
    return f"{name}_{of}" if of else name
