"""Start: when Airflow runs a pipeline's drain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.sdk import (
    Asset,
    AssetAny,
    AssetOrTimeSchedule,
    AssetWatcher,
    CronDataIntervalTimetable,
)

from sluice_airflow import ids
from sluice_airflow.tasks.publish import asset_of
from sluice_airflow.triggers.watched import watched

if TYPE_CHECKING:
    from spark_jobs.spec import Pipeline


def start(spec: Pipeline) -> CronDataIntervalTimetable | AssetOrTimeSchedule:
    """By its cron; with `when_data` also when records wait, with `after` also when another pipeline
    has published.

    The cron is explicit, since a bare cron string gives data intervals of zero length in Airflow 3.
    """
    by_time = CronDataIntervalTimetable(spec.schedule.cron, timezone="UTC")
    wanted = [records_of(spec)] if spec.schedule.when_data else []
    wanted += [asset_of(spec.schedule.after)] if spec.schedule.after else []
    if not wanted:
        return by_time
    return AssetOrTimeSchedule(timetable=by_time, assets=AssetAny(*wanted))


def records_of(spec: Pipeline) -> Asset:
    """The asset whose events say that records of a pipeline's topic wait."""
    from sluice_airflow.triggers.waiting import RecordsWait  # noqa: PLC0415 - its base loads what no other DAG needs

    assert spec.schedule.when_data is not None
    name, look = ids.drains(spec.name), spec.schedule.when_data
    every, at_least = look.every.total_seconds(), look.at_least
    trigger = RecordsWait(
        pipeline=spec.name,
        dag_id=name,
        every=every,
        at_least=at_least,
        watched=watched(spec)._asdict(),
    )
    return Asset(
        name=f"{name}-records",
        uri=f"x-sluice://records/{name}",
        group="sluice",
        watchers=[AssetWatcher(name=f"{name}-records", trigger=trigger)],
    )
