"""Checkpoints as Spark writes them, letter for letter, without Spark."""

import json
from pathlib import Path

from upath import UPath

from spark_jobs.checkpoint.added_topics import fit
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.source.positions import Positions

Offsets = dict[int, int]


def begin(folder: Path | UPath, first: Offsets | None = None, topic: str = "flights") -> UPath:
    """A checkpoint before its first batch. `first` is where the source found the topic to begin."""
    (folder / "offsets").mkdir(parents=True)
    (folder / "commits").mkdir()
    (folder / "metadata").write_text('{"id":"2edd93de-7051-4b26-8f9f-ae130208af80"}')
    if first is not None:
        (folder / "sources" / "0").mkdir(parents=True)
        (folder / "sources" / "0" / "0").write_bytes(b"\0v1\n" + _offsets(first, topic).encode())
    return UPath(folder)


PLANNED_MS = 1795253827094
"""When Spark planned a batch, if a test does not say."""


def plan_batch(
    folder: Path | UPath,
    batch: int,
    end: Offsets,
    watermark_ms: int = 0,
    topic: str = "flights",
    clock_ms: int = PLANNED_MS,
    partitions: int = 2,
):
    """What Spark writes before a batch runs."""
    conf = {"spark.sql.shuffle.partitions": str(partitions)}
    metadata = {"batchWatermarkMs": watermark_ms, "batchTimestampMs": clock_ms, "conf": conf}
    written = "\n".join(("v1", json.dumps(metadata, separators=(",", ":")), _offsets(end, topic)))
    (folder / "offsets" / str(batch)).write_text(written)
    (folder / "offsets" / f".{batch}.crc").write_bytes(b"crc\0")


def commit_batch(folder: Path | UPath, batch: int, next_watermark_ms: int = 0):
    """What Spark writes when a batch's sink has committed."""
    (folder / "commits" / str(batch)).write_text(
        f'v2\n{{"nextBatchWatermarkMs":{next_watermark_ms},"stateUniqueIds":{{}}}}'
    )
    (folder / "commits" / f".{batch}.crc").write_bytes(b"crc\0")


def keep_state(folder: Path | UPath, batch: int, operators: int, partitions: int):
    """The snapshot of every RocksDB store at a commit: a version is one more than its batch."""
    for operator in range(operators):
        (folder / "state" / str(operator) / "_metadata").mkdir(parents=True, exist_ok=True)
        for partition in range(partitions):
            store = folder / "state" / str(operator) / str(partition)
            (store / "SSTs").mkdir(parents=True, exist_ok=True)
            (store / f"{batch + 1}_id.zip").write_bytes(b"")
            (store / f".{batch + 1}_id.zip.crc").write_bytes(b"")


class Alone:
    """A lease that nobody else wants."""

    fence = 0
    path = "lease"

    def confirm(self) -> None:
        pass


def fitted(folder: Path | UPath, *others: str, earliest: Offsets | None = None) -> Checkpoint:
    """For the topic of before and these."""
    checkpoint = Checkpoint(UPath(folder))
    begins = Positions(earliest or {})
    fit(checkpoint, ("flights", *others), begins, Alone(), "sales_hourly")
    return checkpoint


def _offsets(offsets: Offsets, topic: str) -> str:
    return json.dumps(
        {topic: {str(partition): offset for partition, offset in offsets.items()}},
        separators=(",", ":"),
    )
