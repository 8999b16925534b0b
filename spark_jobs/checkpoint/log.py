"""Reads Spark's checkpoint without Spark: which batches were committed, what each covers, which watermark was in force.

The files are those of OffsetSeqLog and CommitLog (org.apache.spark.sql.execution.streaming): a line with the format's version,
then JSON. `offsets/<N>` is written before batch N runs, `commits/<N>` after its sink has committed. `sources/0/0` is where the
first batch started: KafkaSourceInitialOffsetWriter puts a zero byte before its version line.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spark_jobs.contract.errors import CheckpointBroken
from spark_jobs.contract.micro_batch import Batch, Offsets

if TYPE_CHECKING:
    from upath import UPath

def broken(what: str, pipeline: str) -> CheckpointBroken:
    """The error of a checkpoint from which no run can go on."""
    return CheckpointBroken(f"{what}: the checkpoint of {pipeline} cannot be gone on from as it is.",
                            f"See what is whole, and what would fix it: sluice doctor {pipeline}")


class Checkpoint:
    """A checkpoint folder, live or stopped. Reading never disturbs it."""

    def __init__(self, folder: UPath) -> None:
        self.folder = folder

    @property
    def query_id(self) -> str | None:
        """The query's own id, which Delta's transaction id carries; None before the first start."""
        path = self.folder / "metadata"
        return str(json.loads(path.read_text())["id"]) if path.exists() else None

    def planned(self) -> list[int]:
        """Ids of the batches that have offsets, ascending."""
        return _ids(self.folder / "offsets")

    def committed(self) -> list[int]:
        """Ids of the batches that are committed, ascending."""
        return _ids(self.folder / "commits")

    def batch(self, batch_id: int) -> Batch:
        """What `offsets/<batch_id>` and its predecessor say. Raises FileNotFoundError where Spark has purged it."""
        metadata, end = self._read(batch_id)
        before, start = self._read(batch_id - 1) if batch_id else ({"batchWatermarkMs": 0}, self._first())
        # A partition that appeared since the batch before starts at 0: Kafka has nothing earlier for it.
        return Batch(batch_id, start, end, int(metadata["batchWatermarkMs"]), int(before["batchWatermarkMs"]),
                     int(metadata.get("batchTimestampMs", 0)))

    def next_watermark_ms(self, batch_id: int) -> int:
        """The watermark that a committed batch left for the one after it, in milliseconds since the epoch (CommitMetadata)."""
        _, metadata = (self.folder / "commits" / str(batch_id)).read_text().splitlines()
        return int(json.loads(metadata).get("nextBatchWatermarkMs", 0))

    def watermark(self, batch_id: int) -> datetime | None:
        """The watermark that a batch evicts by; None before there is one. Needs no other batch's file."""
        milliseconds = int(self._read(batch_id)[0]["batchWatermarkMs"])
        return datetime.fromtimestamp(milliseconds / 1000, UTC) if milliseconds > 0 else None

    def readable(self) -> list[int]:
        """Ids of the committed batches whose state is still there whole, ascending; none where no step keeps state.

        Version N+1 of each store is the state after batch N: a file <N+1>_<id>.zip (RocksDB), <N+1>.delta or <N+1>.snapshot.
        Spark purges stores and logs each by its own count (minBatchesToRetain), so their oldest differ by one or two.
        """
        state = self.folder / "state"
        operators = [state / str(operator) for operator in _ids(state)]
        stores = [operator / str(partition) for operator in operators for partition in _ids(operator)]
        if not stores:
            return []
        kept = set.intersection(*map(versions, stores)) & {batch + 1 for batch in self.planned()}
        return [batch for batch in self.committed() if batch + 1 in kept]

    def _read(self, batch_id: int) -> tuple[dict[str, int], Offsets]:
        path = self.folder / "offsets" / str(batch_id)
        try:
            _, metadata, *sources = path.read_text().splitlines()
            return json.loads(metadata), _offsets(sources[0]) if sources and sources[0] != "-" else {}
        except ValueError:
            raise broken(f"{path} does not parse", self.folder.parent.parent.name) from None

    def _first(self) -> Offsets:
        """Where reading began: past 0 in a partition of which retention had removed records before the first drain."""
        path = self.folder / "sources" / "0" / "0"
        return _offsets(path.read_text().splitlines()[-1]) if path.exists() else {}


def _offsets(line: str) -> Offsets:
    return {int(p): int(o) for offsets in json.loads(line).values() for p, o in offsets.items()}


def versions(store: UPath) -> set[int]:
    """The versions of one state store that have a file."""
    names = (path.name for path in store.iterdir() if path.suffix in {".zip", ".delta", ".snapshot"})
    return {int(number) for name in names if (number := name.split(".")[0].split("_")[0]).isdigit()}


def _ids(folder: UPath) -> list[int]:
    return sorted(int(path.name) for path in folder.iterdir() if path.name.isdigit()) if folder.exists() else []
