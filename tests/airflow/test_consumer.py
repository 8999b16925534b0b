"""The consumer's DAG of docs/reference.md: the asset starts it, and it reads the version."""

import importlib.util
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import deltalake
import pyarrow as pa
from airflow.sdk.api.datamodels._generated import AssetReferenceAssetEventDagRun
from airflow.sdk.execution_time.comms import AssetEventDagRunReferenceResult
from airflow.sdk.execution_time.context import TriggeringAssetEventsAccessor

from sluice_airflow.tasks.publish import asset_of, days_of
from spark_jobs.messages.event import Event
from spark_jobs.messages.offset_account import Account
from spark_jobs.settings.installation import REPO

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def consumer() -> Any:
    return _module("consumer")


def _module(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, REPO / "local" / "reference" / f"{name}.py")
    spec.loader.exec_module(module := importlib.util.module_from_spec(spec))
    return module


def consumer_by_day() -> Any:
    return _module("day_consumer")


def event(table: Path, version: int) -> AssetEventDagRunReferenceResult:
    """The event of a version."""
    extra = Event(
        number=version, table=str(table), pipeline="departure_delays", run_id="run",
        generation="g", table_version=version, table_version_before=None, account=Account(),
        watermark=None, offsets_end={},
    )  # fmt: skip
    asset = asset_of("departure_delays")
    return AssetEventDagRunReferenceResult(
        asset=AssetReferenceAssetEventDagRun(name=asset.name, uri=asset.uri, extra={}),
        extra=extra.model_dump(mode="json"),
        source_task_id="publish",
        source_dag_id="departure_delays",
        source_run_id="run",
        source_map_index=-1,
        source_aliases=[],
        timestamp=AT.replace(minute=version),
    )


def test_reads_the_newest_version_that_was_published_and_none_that_was_not(tmp_path):
    for number in range(4):  # a row a version; the last is in the table, and not published
        deltalake.write_deltalake(str(tmp_path), pa.table({"number": [number]}), mode="append")
    dag = consumer().delays_of_the_day()
    events = TriggeringAssetEventsAccessor.build([event(tmp_path, version) for version in (2, 1)])
    assert dag.get_task("read").python_callable(triggering_asset_events=events) == 3


def test_is_scheduled_by_the_asset_that_the_pipeline_publishes():
    published = asset_of("departure_delays")
    consumed = consumer().DELAYS
    assert (published.name, published.uri) == (consumed.name, consumed.uri)


def test_a_consumer_by_the_day_reads_the_rows_of_its_day(tmp_path):
    midnight = datetime(2013, 2, 12, tzinfo=UTC)
    ends = [midnight + timedelta(hours=hours) for hours in (0, 1, 24, 25)]
    times = pa.array(ends, pa.timestamp("us", "UTC"))
    deltalake.write_deltalake(str(tmp_path), pa.table({"window_end": times}))
    module = consumer_by_day()
    days = days_of("departure_delays")
    assert (days.name, days.uri) == (module.DAYS.name, module.DAYS.uri)
    of_the_table = event(tmp_path, 0)
    told = of_the_table.model_copy(
        update={
            "asset": of_the_table.asset.model_copy(update={"name": days.name, "uri": days.uri}),
            "extra": {"number": 1, "table": str(tmp_path), "table_version": 0},
        }
    )
    found = module.delays_by_day().get_task("read")
    events = TriggeringAssetEventsAccessor.build([told])
    run = SimpleNamespace(partition_key="2013-02-12")
    assert found.python_callable(dag_run=run, triggering_asset_events=events) == 2
