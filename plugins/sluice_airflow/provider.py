"""Provider: what `airflow providers` lists of Sluice."""

from __future__ import annotations

from spark_jobs import __version__


def info() -> dict[str, object]:
    """By the schema of Airflow's provider_info; it names no connection of its own: Spark's provider
    has `spark`.
    """
    return {
        "package-name": "sluice",
        "name": "Sluice",
        "description": "Stateful streaming on a schedule: Kafka to Delta by Spark's operators.",
        "versions": [__version__],
        "plugins": [{"name": "sluice", "plugin-class": "sluice_airflow.plugin.SluicePlugin"}],
    }
