"""A batching of a case, run: a topic of its own, a root of its own, and drains over it."""

import json
import time
import uuid
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, Producer

from local.broker import create_topic
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.messages.report import Report
from spark_jobs.runs.drain import drain
from spark_jobs.settings.installation import Settings
from spark_jobs.spec import Pipeline
from spark_jobs.spec.analysis.state_checks import REJECTIONS
from spark_jobs.storage.root.paths import Paths
from tests.harness.listener import Listener
from tests.harness.roots import rows_of, told
from tests.spark.properties.case import Crash
from tests.spark.properties.events import Record

Row = dict[str, Any]
PATIENCE_SECONDS = 60


@cache
def _producer(kafka: str) -> Producer:
    """One for all scenes. It says nothing of a broker that has ended before it."""
    return Producer(
        {"bootstrap.servers": kafka, "acks": "all", "enable.idempotence": True, "log_level": 0}
    )


class Scene:
    """A topic that fills record by record, and a pipeline that is drained from it."""

    def __init__(self, kafka: str, folder: Path, spec: Pipeline, partitions: int) -> None:
        topic = spec.topic.model_copy(update={"name": f"events-{uuid.uuid4().hex[:12]}"})
        # A batch of generated records may be late as a whole, and what is generated may be rejected
        # for the greater part: how much of it is no fault here.
        self.spec = spec.model_copy(
            update={"topic": topic, "state_checks_off": (*spec.state_checks_off, *REJECTIONS)}
        )
        self.settings = Settings.from_environment()._replace(
            kafka=kafka, root=str(folder / topic.name)
        )
        self.paths = Paths(self.settings.root, self.spec)
        self.listener = Listener()
        self.runs = 0
        self._producer = _producer(kafka)
        self._cursor: bytes | None = None
        create_topic(kafka, topic.name, partitions)
        self._wait_for(partitions)

    def _wait_for(self, partitions: int) -> None:
        """Until the producer knows them all too: it refuses records for unknown partitions."""
        name = self.spec.topic.name
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (
            len(self._producer.list_topics(name, timeout=10).topics[name].partitions) < partitions
        ):
            assert time.monotonic() < deadline, f"{name} has fewer than {partitions} partitions"

    def send(self, records: Sequence[Record]) -> None:
        """In their order, each to its own partition, with its own Kafka timestamp."""
        refused: list[KafkaError] = []
        for record in records:
            self._producer.produce(
                self.spec.topic.name,
                value=record.value,
                key=b"k",
                partition=record.partition,
                timestamp=record.kafka_ms,
                on_delivery=lambda error, _message: refused.append(error) if error else None,
            )
        assert self._producer.flush(60) == 0
        assert not refused

    def drain(self, most: int | None) -> Report:
        """One run."""
        self.runs += 1
        self._cursor = self.paths.cursor.read_bytes() if self.paths.cursor.exists() else None
        spec = self.spec.model_copy(update={"max_offsets_per_batch": most})
        report = drain(spec, self.settings, f"run-{self.runs}")
        if report.problem and report.problem.code == "STOPPED":
            # the drain takes Ctrl-C for a wish, and hypothesis would look for a smaller case of it
            raise KeyboardInterrupt
        return report

    def crash(self, crash: Crash) -> None:
        """Leave what a kill between the table's commit and the checkpoint's leaves."""
        if crash == "none":
            return
        last = Checkpoint(self.paths.checkpoint).committed()[-1]
        (self.paths.checkpoint / "commits" / str(last)).unlink()
        (self.paths.checkpoint / "commits" / f".{last}.crc").unlink(missing_ok=True)
        if crash == "unaccounted" and self._cursor is not None:
            self.paths.cursor.write_bytes(self._cursor)
        elif crash == "unaccounted":
            Cursor().write(self.paths.cursor)

    def ops(self, table: str) -> list[Row]:
        """Rows of an ops table."""
        order = "batch_id" if table == "batches" else '"partition", "offset"'
        return told(self.paths.root, table, order=order)

    def ends(self) -> list[dict[int, int]]:
        """Each batch's end offsets by partition, from ops.batches."""
        return [
            {int(p): o for p, o in json.loads(row["offsets_end"]).items()}
            for row in self.ops("batches")
        ]

    def table(self) -> list[Row]:
        """The output, read without Spark."""
        return rows_of(self.paths.table)

    def published(self) -> list[Row]:
        """What consumers see of it."""
        return rows_of(self.paths.published_table)
