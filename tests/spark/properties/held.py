"""What Spark still holds of a pipeline, by its state store: what must be there, and no more."""

from datetime import UTC
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.spec import Deduplicate, Sliding
from spark_jobs.storage.root.path_forms import state_url
from tests.harness.compare import assert_same
from tests.harness.moments import MICROSECOND
from tests.spark.properties.aggregation import Aggregation
from tests.spark.properties.bucket_form import Tallies
from tests.spark.properties.case import Case
from tests.spark.properties.forms import Form, first_of_each, keys_of
from tests.spark.properties.group_form import Totals
from tests.spark.properties.replay import Seen, play
from tests.spark.properties.scene import Row, Scene

REMEMBER = ("dedupe", "dedupeWithinWatermark")
SAVE = ("stateStoreSave", "sessionWindowStateStoreSaveExec")


def assert_held(scene: Scene, spark: SparkSession, case: Case, form: Form) -> None:
    """Every event of the last step, and of a Deduplicate, is written or held by Spark."""
    played = play(case, scene.ends(), form.enters, form.late)
    seen = [one for batch in played for one in batch.seen]
    watermark_us = played[-1].watermark_us
    reached = sum(batch.counts["accepted"] for batch in played) - form.duplicates(seen)
    held = Held(spark, str(scene.paths.checkpoint))
    if form.deduplicate:
        known = _remembered(seen, form.deduplicate, case.delay // MICROSECOND, watermark_us)
        assert_same(held.keys(), known, "what a Deduplicate remembers")
    if isinstance(form, Totals):
        waiting = held.waiting()
        assert waiting == form.still_waiting(seen, watermark_us), "the events that Spark holds"
        assert len(scene.table()) + waiting == reached
    elif isinstance(form, Aggregation):
        groups = held.tallies() if isinstance(form, Tallies) else held.counts()
        assert_same(
            groups, form.still_open(seen, watermark_us), "the sizes of the groups that Spark holds"
        )
        counted = sum(row["events"] for row in scene.table()) + (
            sum(groups) if form.mode == "append" else 0
        )
        assert counted == sum(map(len, form.groups(seen).values()))
        assert counted == reached or isinstance(form.window, Sliding)


def _remembered(seen: list[Seen], step: Deduplicate, delay_us: int, watermark_us: int) -> list[Row]:
    """The keys that may come again: Spark forgets one behind its time, or that and the delay."""
    keys = keys_of(step)
    rows = []
    for _, event, _ in first_of_each(seen, keys):
        until_us = {
            "watermark": event.at_us + delay_us,
            "event_time": event.at_us,
            "for_ever": None,
        }[step.scope]
        if until_us is None or until_us > watermark_us:
            row = {key: getattr(event, key) for key in keys}
            rows.append(row | ({"until_us": until_us} if step.scope == "watermark" else {}))
    return rows


class Held:
    """The stores of a checkpoint, as its last batch left them."""

    def __init__(self, spark: SparkSession, checkpoint: str) -> None:
        self._spark = spark
        self._checkpoint = checkpoint = state_url(checkpoint)
        stores = spark.read.format("state-metadata").load(checkpoint).collect()
        self._numbers = {store.operatorName: store.operatorId for store in stores}

    def keys(self) -> list[Row]:
        """A Deduplicate's keys; within a watermark with until_us, which ends its memory."""
        rows = [
            row.asDict(recursive=True)
            for row in self._store(*REMEMBER).select("key", "value").collect()
        ]
        return [_key(row) for row in rows]

    def counts(self) -> list[int]:
        """Each open group's count(*): the first of the measures, and so the first buffer."""
        groups = self._store(*SAVE)
        buffer = groups.select("value.*").columns.index("count")
        return [row.value[buffer] for row in groups.select("value").collect()]

    def tallies(self) -> list[int]:
        """Each key's events, in all buckets: the Arrow streams that they are stored as."""
        stored = self._store("transformWithState", stateVarName="state").select("value.*").collect()
        return [
            events
            for [stream] in stored
            for events in pa.ipc.open_stream(bytes(stream)).read_all()["events"].to_pylist()
        ]

    def waiting(self) -> int:
        """How many events wait in the list of that name, of all keys together."""
        return self._store("transformWithState", stateVarName="waiting").count()

    def _store(self, *names: str, **options: str) -> DataFrame:
        number = next(
            number for operator, number in self._numbers.items() if operator.startswith(names)
        )
        return (
            self._spark.read.format("statestore")
            .option("operatorId", number)
            .options(**options)
            .load(self._checkpoint)
        )


def _key(row: dict[str, Any]) -> Row:
    key: Row = dict(row["key"])
    if "event_time" in key:
        key["event_time"] = key["event_time"].replace(tzinfo=UTC)
    until_us = (row["value"] or {}).get("expiresAtMicros")
    return key | ({} if until_us is None else {"until_us": until_us})
