"""A scene without a broker: its records are in the folder that a case's topic is (proof/records.py),
each partition a file, and a line's number its offset.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

from local import ledger
from spark_jobs.proof.cases import Record
from spark_jobs.proof.records import ends_of, send, topic_of
from tests.harness.scene import Scene

if TYPE_CHECKING:
    from local.deliveries import Delivered
    from spark_jobs.spec import Pipeline


class FolderScene(Scene):
    """A scene whose records are in a folder, and whose ledger says where."""

    def __init__(self, folder: Path, pipeline: Pipeline, **choices: Any) -> None:
        super().__init__("no.broker:9", folder, pipeline, **choices)
        self.records = folder / f"records-{self.topic}"
        self.change(topic=topic_of(self.spec.topic, self.records, self.partitions))

    def _publish(self, number: int, records: list[Delivered]) -> dict[str, int]:
        ends, places, sent = ends_of(str(self.records)), [], []
        for record in records:
            partition = crc32(record.key or b"") % self.partitions
            at = record.kafka_timestamp
            sent.append(
                Record(value=record.value, key=record.key, timestamp=at, partition=partition)
            )
            places.append((partition, ends[partition]))
            ends[partition] += 1
        send(self.spec.topic, sent)
        ledger.write(self.ledger_folder, number, self.topic, records, places)
        return {}
