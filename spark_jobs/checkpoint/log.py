"""Reads Spark's checkpoint without Spark: which batches are committed, which offsets each covers,
and its watermark.

The files are OffsetSeqLog's and CommitLog's (org.apache.spark.sql.execution.streaming): a line with
the format's version, then JSON. Spark writes `offsets/<N>` before batch N runs, and `commits/<N>`
after its sink has committed. An entry of the offset log has a line for each topic, `-` of one that
no batch has. `sources/<n>/0` has the offsets at which the first batch of the topic with this number
started; KafkaSourceInitialOffsetWriter puts a zero byte before its version line.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

from spark_jobs.errors import CheckpointBroken
from spark_jobs.source.micro_batch import Batch, of_log
from spark_jobs.source.positions import Positions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from upath import UPath


NO_OFFSETS = "-"
"""The line of a source that no batch has (OffsetSeqLog.SERIALIZED_VOID_OFFSET)."""
STORES = "spark.sql.shuffle.partitions"
"""The option in an entry of the offset log that says how many state stores a step has."""


def checkpoint_broken(what: str, pipeline: str) -> CheckpointBroken:
    """The error of a checkpoint from which no run can resume.

    `what` names the file and what is wrong with it.
    """
    return CheckpointBroken.file_damaged(what=what, pipeline=pipeline)


class Checkpoint:
    """A checkpoint folder. It may be read while a query writes it."""

    def __init__(self, folder: UPath) -> None:
        self.folder = folder

    def planned(self) -> list[int]:
        """Ids of the batches that have an entry in the offset log, ascending."""
        return ids(self.folder / "offsets")

    def committed(self) -> list[int]:
        """Ids of the batches that have an entry in the commit log, ascending."""
        return ids(self.folder / "commits")

    def done(self) -> Positions:
        """Where the newest committed batch ends; nothing without one."""
        committed = self.committed()
        return self.batch(committed[-1]).end if committed else Positions()

    def committed_after(self, batch_id: int) -> list[int]:
        """Ids of the batches after this one, up to the newest that is committed, ascending.

        Spark plans a batch only once the one before is committed, so one whose entry in the commit
        log is missing amid others was committed too.

        Raises CheckpointBroken if the offset log no longer has what `batch` needs of each.
        """
        after = list(range(batch_id + 1, max(self.committed(), default=-1) + 1))
        lacking = self.first_unplanned(after) if after else None
        if lacking is not None:
            raise checkpoint_broken(
                f"batch {lacking} has no account yet, and {self.folder / 'offsets'} does not have "
                "its offsets",
                self.folder.parent.parent.name,
            )
        return after

    def first_unplanned(self, batches: Iterable[int], damaged: Iterable[int] = ()) -> int | None:
        """The first of these batches whose entry the offset log lacks, or the one before it; None
        if it has all. Entries of `damaged` do not count.
        """
        planned = {-1, *self.planned()} - {*damaged}
        return next((each for each in batches if not {each - 1, each} <= planned), None)

    def batch(self, batch_id: int) -> Batch:
        """The batch as `offsets/<batch_id>` and the entry before it have it.

        Raises FileNotFoundError if one is purged.
        """
        metadata, end = self._read(batch_id)
        before, start = (
            self._read(batch_id - 1) if batch_id else ({"batchWatermarkMs": 0}, Positions())
        )
        # A partition that was added since the batch before starts at 0: Kafka has no earlier record
        # of it. Of a topic whose first batch this is, it may have none from 0 on.
        for number in end.inputs - start.inputs:
            start |= self.initial_offsets(number)
        return Batch(
            batch_id,
            start,
            end,
            int(metadata["batchWatermarkMs"]),
            int(before["batchWatermarkMs"]),
            int(metadata.get("batchTimestampMs", 0)),
        )

    def next_watermark_ms(self, batch_id: int) -> int:
        """The watermark for the batch after this committed one, in milliseconds since the epoch
        (CommitMetadata).
        """
        _, metadata = (self.folder / "commits" / str(batch_id)).read_text().splitlines()
        return int(json.loads(metadata).get("nextBatchWatermarkMs", 0))

    def clock_ms(self, batch_id: int) -> int:
        """When Spark planned the batch, in milliseconds since the epoch.

        Reads no other batch's file.
        """
        return int(self._read(batch_id)[0].get("batchTimestampMs", 0))

    def watermark(self, batch_id: int) -> datetime | None:
        """The watermark by which a batch evicts state; None before there is one.

        Reads no other batch's file.
        """
        return of_log(int(self._read(batch_id)[0]["batchWatermarkMs"]))

    def partitions(self, batch_id: int) -> int | None:
        """How many state stores each stateful step has after the batch; None if its entry does not
        say. Every batch has as many as the one before, unless it is a repartition's.

        Reads no other batch's file.
        """
        number = self._read(batch_id)[0].get("conf", {}).get(STORES)
        return None if number is None else int(number)

    def moves_state(self, batch_id: int) -> bool:
        """Whether the batch was planned with another number of stores than the one before: Spark
        runs no such batch. False if nobody can tell.
        """
        if not {batch_id - 1, batch_id} <= {*self.planned()}:
            return False
        was, now = self.partitions(batch_id - 1), self.partitions(batch_id)
        return None not in {was, now} and was != now

    def stores(self, batch_id: int) -> dict[int, int]:
        """Spark's number of each stateful operator -> how many state stores the batch's commit
        names of it; empty where it names none, or does not parse.
        """
        try:
            commit = (self.folder / "commits" / str(batch_id)).read_text().splitlines()[1]
            ids = json.loads(commit).get("stateUniqueIds") or {}
        except (OSError, IndexError, ValueError):
            return {}
        return {int(operator): len(partitions) for operator, partitions in ids.items()}

    def readable(self) -> list[int]:
        """Ids of the committed batches that every state store still has a version of, ascending;
        empty if no step keeps state.

        Version N+1 of a store is the state after batch N: a file <N+1>_<id>.zip (RocksDB),
        <N+1>.delta or <N+1>.snapshot. Spark purges each store and each log by its own count
        (minBatchesToRetain), so their oldest batches differ by one or two.
        """
        state = self.folder / "state"
        stores = [
            {partition: versions(state / str(operator) / str(partition)) for partition in found}
            for operator in ids(state)
            if (found := ids(state / str(operator)))
        ]
        if not stores:
            return []
        planned = {*self.planned()}
        return [
            batch
            for batch in self.committed()
            if batch in planned and all(self._has_state(batch, each) for each in stores)
        ]

    def _has_state(self, batch: int, stores: dict[int, set[int]]) -> bool:
        lacking = [partition for partition, kept in stores.items() if batch + 1 not in kept]
        if not lacking:
            return True
        # After a repartition there are stores that the batch has not, with more than its number.
        number = self.partitions(batch)
        return number is not None and number <= min(lacking)

    def _read(self, batch_id: int) -> tuple[dict[str, Any], Positions]:
        path = self.folder / "offsets" / str(batch_id)
        try:
            _, metadata, *topics = path.read_text().splitlines()
            found = {n: _offsets(line) for n, line in enumerate(topics) if line != NO_OFFSETS}
            return json.loads(metadata), Positions.of_all(found.values(), found)
        except ValueError:
            raise checkpoint_broken(
                f"{path} does not parse", self.folder.parent.parent.name
            ) from None

    def begun(self) -> list[int]:
        """The numbers of the topics whose first batch's start Spark has noted."""
        return [n for n in ids(self.folder / "sources") if self.initial_path(n).exists()]

    def initial_path(self, number: int) -> UPath:
        """Of the note where the first batch of the topic with this number starts."""
        return self.folder / "sources" / str(number) / "0"

    def initial_topic(self, number: int) -> str | None:
        """The name of the topic that the note is of; None if it is of none."""
        return topic_of(self._initial_line(number))

    def initial_offsets(self, number: int) -> Positions:
        """Where the first batch of this topic started.

        Not at 0 in a partition whose first records retention had removed by then.
        """
        return Positions.of_all([_offsets(self._initial_line(number))], [number])

    def _initial_line(self, number: int) -> str:
        path = self.initial_path(number)
        return path.read_text().splitlines()[-1] if path.exists() else "{}"


def topic_of(line: str) -> str | None:
    """The name of the topic whose offsets these are; None if there are none.

    >>> topic_of('{"eu":{"0":5}}'), topic_of("{}")
    ('eu', None)
    """
    return next(iter(json.loads(line)), None)


def _offsets(line: str) -> Positions:
    """By the source's own numbers."""
    return Positions.of_named(
        {p: int(at) for offsets in json.loads(line).values() for p, at in offsets.items()}
    )


def versions(store: UPath) -> set[int]:
    """The versions of one state store that have a file, snapshot or delta."""
    names = (
        path.name for path in store.iterdir() if path.suffix in {".zip", ".delta", ".snapshot"}
    )
    return {int(number) for name in names if (number := name.split(".")[0].split("_")[0]).isdigit()}


def ids(folder: UPath) -> list[int]:
    """The numbers by which entries of a log are named, ascending."""
    return (
        sorted(int(path.name) for path in folder.iterdir() if path.name.isdigit())
        if folder.exists()
        else []
    )
