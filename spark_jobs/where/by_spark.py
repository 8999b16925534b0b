"""By Spark: what the steps before state make of records, by the drain's own dataflow, in one job.

The application's half; ask.py is the half of whoever asks.
"""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, functions as F

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.failing import read_failing
from spark_jobs.checkpoint.pins import inputs_of
from spark_jobs.dataflow import Dataflow, dataflow
from spark_jobs.launch.session import session
from spark_jobs.repair.offsets.archived import archive_records, archived_or_why, located
from spark_jobs.repair.offsets.slices import merged
from spark_jobs.source.positions import Positions
from spark_jobs.source.sources import source_of
from spark_jobs.steps import by_rules
from spark_jobs.steps.catalyst import asks_for_the_time
from spark_jobs.steps.chain import stages
from spark_jobs.steps.classify import good_records
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values.own_columns import KAFKA, MALFORMED, OFFSET, PARTITION, own
from spark_jobs.where.ask import (
    CLOCK_COLUMN,
    ENTERED,
    REACHED,
    REACHED_COLUMN,
    RULES_COLUMN,
    WHY_COLUMN,
)
from spark_jobs.where.read import DROPPED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Column

    from spark_jobs.checkpoint.notes.failing import Reasons
    from spark_jobs.messages.job import Where
    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.positions import Parts
    from spark_jobs.spec import Pipeline

END_OF_TIME_MS: Final = 253_402_300_799_000
"""A clock by which nothing is premature: what was so in its batch is kept, and known."""


def tell(job: Where, spec: Pipeline, settings: Settings) -> Iterator[str]:
    """Prints nothing: the answer is files."""
    spark = session(spec.name, spec.state, settings.root)
    paths = Paths(settings.root, spec)
    folder = Path(job.folder)
    read = _Read(spark, spec, settings, paths, job)
    if job.key:
        found = read.flow(job.beside).by_decoder.where(F.expr(job.key))
        _write(folder / REACHED, found.select(*_place()).limit(job.most))
    else:
        aside = read_failing(paths.failing).reasons
        beside, asked = (read.flow(parts, aside) for parts in (job.beside, job.asked))
        _write(folder / REACHED, _reached(asked, spec, job.asked))
        _write(folder / ENTERED, _entered(beside, asked, spec, job.asked))
    yield from ()


class _Read:
    """The dataflow over records, wherever they are now."""

    def __init__(
        self, spark: SparkSession, spec: Pipeline, settings: Settings, paths: Paths, job: Where
    ) -> None:
        self._spark, self._spec, self._settings, self._paths = spark, spec, settings, paths
        self._sides = inputs_of(job.batch, Checkpoint(paths.checkpoint), spec, settings)
        known = read_identity(paths)
        assert known is not None
        self._id = known.topic_id
        self._source = source_of(spec, settings)
        self._earliest = Positions.of_named(job.earliest)
        self._has, _ = archived_or_why(paths.root, spec.inputs, self._id)

    def flow(self, parts: Parts, aside: Reasons | None = None) -> Dataflow:
        """No record ends it, neither one that a rule refuses nor one that was put aside."""
        near = {p: tuple(merged(ranges)) for p, ranges in parts.items()}
        where = located(near, self._has, self._earliest)
        frames = []
        if where.source or not where.archive:
            frames.append(self._source.read(self._spark, where.source or {0: ((0, 0),)}))
        if where.archive:
            archive = archive_records(self._paths.root, self._spec.inputs, self._id)
            frames.append(archive.read(self._spark, where.archive))
        records = reduce(DataFrame.unionAll, frames)
        return dataflow(
            records, self._spec, self._settings, self._sides,
            clock_ms=END_OF_TIME_MS, failing=aside, refusing=False,
        )  # fmt: skip


def _place() -> tuple[Column, Column]:
    return F.col("kafka.partition").alias(PARTITION), F.col("kafka.offset").alias(OFFSET)


def _reached(asked: Dataflow, spec: Pipeline, parts: Parts) -> DataFrame:
    """How far each came (read.Seen), and why it is malformed."""
    good = good_records(asked.classified, spec.inputs)
    frames = [good, *stages(good, spec, asked.sides)]
    by_clock = asks_for_the_time(asked.stateful_input)
    nothing = F.lit(None).cast("string")
    by_rule = by_rules.told(spec.inputs) if by_rules.has_rules(spec.inputs) else nothing
    dropped = F.when(by_rules.fails_one(spec.inputs, "drop"), by_rule).alias(RULES_COLUMN)
    left = F.lit(DROPPED).alias(REACHED_COLUMN)
    told = [asked.classified.select(*_place(), left, MALFORMED, dropped)]
    told += [
        frame.select(*_place(), F.lit(number), nothing, nothing)
        for number, frame in enumerate(frames)
    ]
    rows = reduce(DataFrame.unionAll, told).where(_within(parts))
    return rows.groupBy(PARTITION, OFFSET).agg(
        F.max(REACHED_COLUMN).alias(REACHED_COLUMN),
        F.max(MALFORMED).alias(WHY_COLUMN),
        F.max(RULES_COLUMN).alias(RULES_COLUMN),
        F.lit(by_clock).alias(CLOCK_COLUMN),
    )


def _entered(beside: Dataflow, asked: Dataflow, spec: Pipeline, parts: Parts) -> DataFrame:
    """The rows that entered, of those asked for and of their copies."""

    def rows(flow: Dataflow) -> DataFrame:
        entered = flow.stateful_input
        return entered.select(*_place(), *(name for name in entered.columns if name != KAFKA))

    own_rows = rows(asked).where(_within(parts))
    keys = spec.entry.state_key(None) if spec.entry and spec.entry.balance.drops_duplicates else ()
    if keys == ():
        return own_rows
    names = [*(keys or (name for name in own_rows.columns if name not in (PARTITION, OFFSET)))]
    wanted = own_rows.select(*(F.col(f"`{name}`").alias(own(name)) for name in names)).distinct()
    same = reduce(
        lambda one, other: one & other,
        (F.col(f"`{name}`").eqNullSafe(F.col(own(name))) for name in names),
    )
    copies = rows(beside).join(F.broadcast(wanted), same, "left_semi")
    return own_rows.unionByName(copies).dropDuplicates([PARTITION, OFFSET])


def _within(parts: Parts) -> Column:
    """Whether a place is in them."""
    found = [
        (F.col(PARTITION) == partition) & F.col(OFFSET).between(first, stop - 1)
        for partition, ranges in parts.items()
        for first, stop in ranges
    ]
    return _any(found) if found else F.lit(False)


def _any(conditions: list[Column]) -> Column:
    """As a tree of few levels (any_of.py)."""
    if len(conditions) == 1:
        return conditions[0]
    middle = len(conditions) // 2
    return _any(conditions[:middle]) | _any(conditions[middle:])


def _write(path: Path, rows: DataFrame) -> None:
    table = rows.toArrow()
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
