"""Refused records: those for which a rule with on_failure='refuse' ended a batch or a repair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.source.place import PLACE, Place
from spark_jobs.source.place_columns import columns
from spark_jobs.steps.by_rules import REFUSED, fails_one, told

if TYPE_CHECKING:
    from spark_jobs.dataflow import Dataflow
    from spark_jobs.runs.failures.data_error import DataError


def by_a_rule(error: DataError) -> bool:
    """Whether Spark failed since a rule refuses a record."""
    return REFUSED in error.message


def refused_records(flow: Dataflow, most: int) -> list[tuple[Place, str]]:
    """The first of them, by place; and a reason, which names all rules that the record fails."""
    inputs = flow.spec.inputs
    rows = flow.by_decoder.where(fails_one(inputs, "refuse"))
    found = rows.select(*columns(rows), told(inputs).alias("reason")).orderBy(*PLACE)
    return [(Place(*at), why) for *at, why in found.limit(most).collect()]
