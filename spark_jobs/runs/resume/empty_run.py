"""Empty run: what a drain plans and judges with, over no records: what a drain refuses,
`sluice validate --deep` refuses too.

The query is started as a drain starts it, from a stream without files, into a checkpoint that is
thrown away: Spark then looks for what it cannot do in a stream (UnsupportedOperationChecker). The
checks are evaluated by Great Expectations as after a drain.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame, SparkSession, functions as F
from upath import UPath

from spark_jobs import checks as expectations
from spark_jobs.dataflow import dataflow
from spark_jobs.errors import CheckBroken
from spark_jobs.launch.session import CHECKPOINTS
from spark_jobs.settings.installation import Settings
from spark_jobs.side.port import newest
from spark_jobs.source.sources import source_of
from spark_jobs.spec import Pipeline
from spark_jobs.spec.checks.check import StateMetrics
from spark_jobs.steps.timers import Timers
from spark_jobs.storage.root.path_forms import spark_url
from spark_jobs.storage.root.paths import Paths

if TYPE_CHECKING:
    from pyspark.sql.types import StructField, StructType

    from spark_jobs.messages.report import CheckResult


MADE_UP = ("'1'", "'2026-01-01'")
"""A value is the first of these that is one of its column's type."""


def refuse_what_a_drain_refuses(spark: SparkSession, spec: Pipeline, settings: Settings) -> None:
    """Raises AnalysisException, SpecInvalid or CheckBroken."""
    streams = source_of(spec, settings).stream(spark)
    with tempfile.TemporaryDirectory(prefix="sluice-validate-") as folder:
        source = UPath(folder) / "source"
        source.mkdir()
        no_files = [spark.readStream.schema(each.schema) for each in streams]
        empty = [reader.parquet(spark_url(source)) for reader in no_files]
        flow = dataflow(empty, spec, settings, newest(spec, settings))
        rows = flow.output(Paths(settings.root, spec).root, Timers(spark))
        with _local_checkpoints(spark):
            _start(rows, spec, UPath(folder) / "checkpoint")
    _refuse_broken(spark, spec, rows.schema)


@contextmanager
def _local_checkpoints(spark: SparkSession) -> Iterator[None]:
    """With Spark's own manager of checkpoints: a root on S3 has one that takes no local files."""
    given = spark.conf.get(CHECKPOINTS, None)
    spark.conf.unset(CHECKPOINTS)
    try:
        yield
    finally:
        if given is not None:
            spark.conf.set(CHECKPOINTS, given)


def _start(rows: DataFrame, spec: Pipeline, checkpoint: UPath) -> None:
    """As sink/writer.py starts it."""
    writer = rows.writeStream.outputMode(spec.output_mode).queryName(f"{spec.name} without records")
    writer = writer.foreachBatch(lambda batch, _: batch.write.format("noop").mode("append").save())
    query = writer.option("checkpointLocation", spark_url(checkpoint)).trigger(availableNow=True)
    query.start().awaitTermination()


def _refuse_broken(spark: SparkSession, spec: Pipeline, columns: StructType) -> None:
    names = (*StateMetrics.model_fields, *spec.own_metrics)
    zeros = StateMetrics(**dict.fromkeys(names, 0))
    broken = [
        *_broken(expectations.check_metrics(spec, zeros)),
        *_broken_over(spark, spec, columns),
    ]
    if broken:
        raise CheckBroken.state_checks_broken(
            pipeline=spec.name,
            checks="; ".join(f"{each.type}: {each.observed}" for each in broken),
        )


def _broken_over(spark: SparkSession, spec: Pipeline, columns: StructType) -> list[CheckResult]:
    """The output checks that cannot be evaluated: neither over no row nor over one. Some take no
    empty frame, and a run judges none.
    """
    if not (found := _broken(expectations.check_rows(spec, spark.createDataFrame([], columns)))):
        return []
    row = spark.range(1).select(*map(_made_up, columns))
    return _broken(expectations.check_rows(spec, row)) and found


def _made_up(column: StructField) -> Column:
    kind = column.dataType.simpleString()
    values = ", ".join(f"try_cast({value} AS {kind})" for value in MADE_UP)
    nested = any(mark in kind for mark in "<(")
    made = F.lit(None).cast(column.dataType) if nested else F.expr(f"coalesce({values})")
    return made.alias(column.name)


def _broken(results: list[CheckResult]) -> list[CheckResult]:
    return [result for result in results if result.outcome == "broken"]
