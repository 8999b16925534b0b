"""Failing: names the records of a repair on which an expression of the spec fails.

Drains put such records into quarantine, and a repair leaves those out. It can meet others: a late
record, for which a drain computes nothing behind its first step, and any record after the
expression has changed, or that no drain has read.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, functions as F

from spark_jobs.decode.jvm import UNSURE
from spark_jobs.errors import RecordsRefused, RecordsUnreachable, SluiceError, StagingStale
from spark_jobs.launch.few_records import release
from spark_jobs.repair.compute.judging import Judging
from spark_jobs.repair.compute.planned import Fetched
from spark_jobs.repair.find.lost import refuse_unreachable
from spark_jobs.runs.failures.data_error import DataError
from spark_jobs.runs.failures.record_search import all_failing, failing
from spark_jobs.runs.watch.limits import StopRequest
from spark_jobs.source.micro_batch import Batch
from spark_jobs.source.positions import Positions
from spark_jobs.steps import by_rules, chain
from spark_jobs.steps.classify import good_records

if TYPE_CHECKING:
    from spark_jobs.errors import ExpressionFailed
    from spark_jobs.repair.find.plan import RepairPlan
    from spark_jobs.source.place import Place


LOG = logging.getLogger(__name__)
NAMED = 3
"""Failing records that are looked for: each takes some twenty queries of a million records."""


LISTED = 100
"""Failing records that the line lists, so that a person can put them aside."""


NEVER_LATE_MS = int(datetime(1, 1, 1, tzinfo=UTC).timestamp()) * 1000


THEN = "Nothing was changed: then plan the repair again."


def named(
    judging: Judging, attempt: Callable[[Judging], SluiceError | None], stop: StopRequest
) -> SluiceError | None:
    """What the attempt gives. Where the JVM is unsure of a record, it is made once more, and Python
    decodes. An expression that fails is told with the records on which it does.
    """
    try:
        return attempt(judging)
    except (PySparkException, Py4JJavaError, StagingStale) as error:
        name = judging.plan.pipeline
        if judging.in_jvm and (why := _why_python(error)):
            LOG.warning("%s: computes once more, and Python decodes: %s", name, why)
            stop.raise_if_asked()
            release(judging.spark)
            return named(judging._replace(in_jvm=False), attempt, stop)
        if isinstance(error, StagingStale):
            raise
        if (data := DataError.of(str(error))) is None:
            _refuse_overtaken(judging)
            raise
        stop.raise_if_asked()
        release(judging.spark)
        raise _expression_failed(judging, data) from error


def _why_python(error: Exception) -> str:
    if isinstance(error, StagingStale):  # Python may take a record that the JVM has refused
        return str(error)
    found = UNSURE.search(str(error))
    return found[0] if found else ""


def _refuse_overtaken(judging: Judging) -> None:
    """Raise RecordsUnreachable if retention took records while they were read: Spark's own words
    for it would be tried again.
    """
    plan = judging.plan
    try:
        refuse_unreachable(judging.spec, judging.settings, plan)
    except (StagingStale, RecordsUnreachable):
        raise
    except SluiceError as error:
        told = "%s: whether Kafka has its records, nobody can tell: %s"
        LOG.warning(told, plan.pipeline, error)


def _expression_failed(judging: Judging, error: DataError) -> ExpressionFailed | RecordsRefused:
    """With the places of the first NAMED records that fail by themselves."""
    spec, plan = judging.spec, judging.plan
    needed = F.expr(plan.needs(spec.inputs.event_time, "kafka.partition"))

    flow = judging._replace(in_jvm=False).flow(Fetched.unread())
    by_a_rule = by_rules.REFUSED in error.message
    if by_a_rule and (refused := by_rules.refused(flow.by_decoder, spec.inputs, LISTED)):
        return _refused(judging, [place for place, _ in refused])

    def computed(rows: DataFrame) -> DataFrame:
        entering = chain.stateful_input(rows, spec, flow.sides).where(needed)
        return chain.row_part(entering, spec, flow.sides, NEVER_LATE_MS)

    good = good_records(flow.by_decoder, spec.inputs).persist()
    try:
        found = [*islice(failing(_spanned(plan, good), good, computed), NAMED + 1)]
        if len(found) > NAMED:
            found = all_failing(good, computed, LISTED, spec.inputs) or found
    finally:
        good.unpersist()
    shown = spec.inputs.shown
    places = [each.place.told(shown) for each in found[:NAMED]]
    records = [each.place.text(shown) for each in found[:LISTED]] or ["PARTITION:OFFSET"]
    if not places:
        why = (
            f"No record of repair {plan.repair_id} fails by itself: several do together, or behind "
            "a step that keeps state."
        )
    else:
        error = found[0].error
        more = ", and others" if len(found) > NAMED else ""
        why = f"It fails on records of topic {spec.inputs.name}: {', '.join(places)}{more}."
    aside = " ".join(f"--record {place}" for place in records)
    first = f"Put them into quarantine: sluice quarantine {spec.name} {aside} --reason WHY. Or: "
    return error.failed(spec.name, error.where(spec), why, THEN, first)


def _refused(judging: Judging, found: list[Place]) -> RecordsRefused:
    shown = judging.spec.inputs.shown
    more = ", and others" if len(found) > NAMED else ""
    told = ", ".join(each.told(shown) for each in found[:NAMED])
    return RecordsRefused.repair(
        pipeline=judging.spec.name,
        repair=judging.plan.repair_id,
        places=f"{told}{more}",
        named=" ".join(f"--record {each.text(shown)}" for each in found),
    )


def _spanned(plan: RepairPlan, good: DataFrame) -> Batch:
    offset = F.col("kafka.offset")
    ends = good.groupBy(F.col("kafka.partition").alias("partition")).agg(
        F.min(offset).alias("first"), F.max(offset).alias("last")
    )
    rows = ends.collect()
    start = Positions({row["partition"]: row["first"] for row in rows})
    end = Positions({row["partition"]: row["last"] + 1 for row in rows})
    return Batch(plan.batch, start, end, 0, 0)
