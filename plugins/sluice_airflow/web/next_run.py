"""Next run: when Airflow makes the next run of each pipeline's DAG, from its metadata."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from airflow.models.dag import DagModel
from airflow.utils.session import create_session
from sqlalchemy import select

from sluice_airflow import ids
from spark_jobs.ops.shown import Overview


class Due(NamedTuple):
    """Of one DAG."""

    paused: bool
    at: datetime | None


def with_next_runs(found: Overview) -> Overview:
    """The overview, with what Airflow knows of each DAG."""
    known = due([ids.drains(line.pipeline) for line in found.pipelines])
    lines = (
        line.model_copy(update={"next_run": _at(each), "paused": each.paused})
        if (each := known.get(ids.drains(line.pipeline)))
        else line
        for line in found.pipelines
    )
    return found.model_copy(update={"pipelines": tuple(lines)})


def _at(of: Due) -> datetime | None:
    """A paused DAG keeps the time of the run that it does not make."""
    return None if of.paused else of.at


def due(dag_ids: Sequence[str]) -> dict[str, Due]:
    """DAG -> what Airflow's metadata says of it. One that it does not know is not among them."""
    with create_session(scoped=False) as session:
        rows = session.execute(
            select(DagModel.dag_id, DagModel.is_paused, DagModel.next_dagrun_create_after).where(
                DagModel.dag_id.in_(dag_ids)
            )
        )
        return {name: Due(bool(paused), at) for name, paused, at in rows}
