"""Sluice in Airflow: a DAG for each pipeline, the operators of its tasks, and the retry rules.

For a DAG of one's own:

    from sluice_airflow import drain_group

Each process that imports it works in the project (sluice.toml) at or above SLUICE_PROJECT, its
working folder, or Airflow's folder of DAGs. Where it cannot be entered, the DAGs and the pages say
so: the plugin is there.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from sluice_airflow.entered import once_entered
from spark_jobs.errors import SettingInvalid

if TYPE_CHECKING:
    from sluice_airflow.dags.drain import drain_group

__all__ = ["drain_group"]

with suppress(SettingInvalid):
    once_entered()


def __getattr__(name: str) -> Any:
    """Loaded when it is asked for: not all that import this package make DAGs."""
    if name != "drain_group":
        raise AttributeError(name)
    from sluice_airflow.dags.drain import drain_group  # noqa: PLC0415 - as above

    return drain_group
