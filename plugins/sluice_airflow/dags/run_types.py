"""Which types of Airflow's runs the DAGs of a pipeline take."""

from __future__ import annotations

# Airflow's SDK has no public name for it; its core's has other names of the same values.
from airflow.sdk.api.datamodels._generated import DagRunType

OF_DRAINS = [
    DagRunType.SCHEDULED,
    DagRunType.MANUAL,
    DagRunType.OPERATOR_TRIGGERED,
    DagRunType.ASSET_TRIGGERED,
    DagRunType.ASSET_MATERIALIZATION,
]
"""All but a backfill: a drain reads the records that are there, whatever its data interval. A
backfill's first run would drain everything and the others nothing, and all would look as if they
had computed a range.
"""
OF_REBUILDS = [DagRunType.MANUAL, DagRunType.OPERATOR_TRIGGERED]
"""A rebuild computes the whole table, so it has no days."""
OF_BACKFILLS = [*OF_REBUILDS, DagRunType.BACKFILL]
