"""The consumer's DAG of docs/reference.md: the asset that a pipeline publishes starts it, and it
reads the event's version.
"""

import importlib.util
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
from airflow.sdk.api.datamodels._generated import AssetReferenceAssetEventDagRun
from airflow.sdk.execution_time.comms import AssetEventDagRunReferenceResult
from airflow.sdk.execution_time.context import TriggeringAssetEventsAccessor

from sluice_airflow.publish import asset_of
from spark_jobs.contract.event import Event
from spark_jobs.contract.report import Account
from spark_jobs.contract.settings import REPO

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def consumer() -> Any:
    spec = importlib.util.spec_from_file_location(
        "consumer", REPO / "local" / "reference" / "consumer.py"
    )
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(module := importlib.util.module_from_spec(spec))
    return module


def event(table: Path, version: int) -> AssetEventDagRunReferenceResult:
    """The event of a version."""
    extra = Event(
        table=str(table),
        pipeline="departure_delays",
        run_id="run",
        generation="g",
        table_version=version,
        table_version_before=None,
        account=Account(),
        watermark=None,
        offsets_end={},
    )
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


def test_reads_the_newest_version_that_was_published_and_none_that_was_not(tmp_path: Path) -> None:
    for number in range(4):  # a row a version; the last is in the table, and not published
        deltalake.write_deltalake(str(tmp_path), pa.table({"number": [number]}), mode="append")
    dag = consumer().delays_of_the_day()
    events = TriggeringAssetEventsAccessor.build([event(tmp_path, version) for version in (2, 1)])
    assert dag.get_task("read").python_callable(triggering_asset_events=events) == 3


def test_is_scheduled_by_the_asset_that_the_pipeline_publishes() -> None:
    published = asset_of("departure_delays")
    consumed = consumer().DELAYS
    assert (published.name, published.uri) == (consumed.name, consumed.uri)
