"""An inquiry's answer in lines: the state of keys after a batch, or what the batches changed in it."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import SparkSession

from spark_jobs.contract.errors import SluiceError, StateUnreadable
from spark_jobs.contract.settings import Settings
from spark_jobs.contract.spec import Pipeline
from spark_jobs.contract.store import spark_url
from spark_jobs.launch.session import session
from spark_jobs.state import text
from spark_jobs.state.changes import changes
from spark_jobs.state.query import Inquiry, Target, resolve, span
from spark_jobs.state.reader import Operator, operators, read
from spark_jobs.state.table import Table, Variable

MOST = 10_000
"""Rows of a key among which a batch's changes are looked for."""
Reading = dict[Variable, Table]


class _Purged(StateUnreadable):
    """Spark has removed what was to be read."""


def answer(spec: Pipeline, settings: Settings, inquiry: Inquiry) -> Iterator[str]:
    """Lines for a person. Raises StateUnreadable or StateIncompatible. Takes no lease, writes nothing under the root."""
    target = resolve(spec, settings, inquiry)
    spark = session(spec.name, target.spec.state, settings.root)
    for place, number in enumerate(target.steps):
        if place:
            yield ""
        yield from _changes(spark, target, number, inquiry) if inquiry.changes else _state(spark, target, number, inquiry.limit)


def _state(spark: SparkSession, target: Target, number: int, limit: int) -> Iterator[str]:
    operator, reading = _reading(spark, target, number, target.batch, limit)
    yield _context(target, number, operator, _batch(target, target.batch))
    for table in reading.values():
        yield text.titled(table)
        yield from text.aligned(table)


def _changes(spark: SparkSession, target: Target, number: int, inquiry: Inquiry) -> Iterator[str]:
    """Newest first. Each batch is held against the one before it; the first of all against nothing."""
    batches = [batch for batch in reversed(target.readable) if batch <= target.batch][: inquiry.batches]
    operator, after = _whole(spark, target, number, batches[0])
    yield _context(target, number, operator, f"changes of {span(batches)}, newest first")
    for batch in batches:
        try:
            before = _whole(spark, target, number, batch - 1)[1] if batch else {}
        except _Purged:
            yield f"batch {batch}: Spark has purged the state before it, so what it changed cannot be told"
            return
        found = [change for name in {**before, **after} for change in changes(before.get(name), after.get(name))]
        yield f"{_batch(target, batch)}: {len(found) or 'no'} change{'' if len(found) == 1 else 's'}"
        yield from (f"  {text.told(change, target.keys)}" for change in found[: inquiry.limit])
        if len(found) > inquiry.limit:
            yield f"  and {len(found) - inquiry.limit:,} more: --limit shows more"
        after = before


def _reading(spark: SparkSession, target: Target, number: int, batch: int, limit: int) -> tuple[Operator, Reading]:
    """All variables of a step after a batch."""
    checkpoint, steps = spark_url(target.checkpoint.folder), target.spec.steps
    purged = _Purged(f"the state of batch {batch} is purged.", "Ask for a later batch.")
    if batch not in target.readable:
        raise purged
    try:
        stateful = [place for place, step in enumerate(steps, 1) if step.stateful]
        operator = dict(zip(stateful, operators(spark, checkpoint, batch), strict=True))[number]
        tables = {variable: read(spark, checkpoint, batch, operator, variable, steps[number - 1], target.keys, limit)
                  for variable in operator.variables}
    except Exception as error:
        if isinstance(error, SluiceError) or batch in target.checkpoint.readable():
            raise
        raise purged from error  # by a run, since we looked
    return operator, tables


def _whole(spark: SparkSession, target: Target, number: int, batch: int) -> tuple[Operator, Reading]:
    """The same with every row of the key."""
    operator, tables = _reading(spark, target, number, batch, MOST)
    most = max(table.total for table in tables.values())
    if most > MOST:
        raise StateUnreadable(f"{most:,} rows of step {number} have that key; changes are looked for among {MOST:,} at most.",
                              "Name more columns of the key.")
    return operator, tables


def _context(target: Target, number: int, operator: Operator, which: str) -> str:
    return (
        f"{target.spec.name}, generation {target.generation}, {which}, step {number} {target.spec.steps[number - 1].kind} "
        f"({operator.name}), {operator.partitions} partition{'s' if operator.partitions != 1 else ''}; "
        f"times are UTC; {span(target.readable)} can be read"
    )


def _batch(target: Target, batch: int) -> str:
    watermark = target.checkpoint.watermark(batch)
    return f"batch {batch}, " + (f"watermark {text.cell(watermark)}" if watermark else "no watermark yet")
