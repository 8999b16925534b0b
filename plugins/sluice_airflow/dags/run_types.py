"""Which types of Airflow's runs the DAGs of a pipeline take."""

from __future__ import annotations

# Airflow's SDK has no public name for it; its core's has other names of the same values.
from airflow.sdk.api.datamodels._generated import DagRunType


def _known(*names: str) -> list[DagRunType]:
    """Before 3.3, Airflow calls a run that another DAG triggers a manual one."""
    return [DagRunType(name) for name in names if name in {kind.value for kind in DagRunType}]


OF_DRAINS = _known(
    "scheduled", "manual", "operator_triggered", "asset_triggered", "asset_materialization"
)
"""All but a backfill: a drain reads the records that are there, whatever its data interval. A
backfill's first run would drain everything and the others nothing, and all would look as if they
had computed a range.
"""
OF_REBUILDS = _known("manual", "operator_triggered")
"""A rebuild computes the whole table, so it has no days."""
OF_BACKFILLS = [*OF_REBUILDS, DagRunType.BACKFILL]
