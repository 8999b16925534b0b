"""The output of `sluice state`: the state after a batch, or the changes of several batches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from pyspark.sql import SparkSession

from spark_jobs.errors import SluiceError, StateUnreadable
from spark_jobs.launch.session import session
from spark_jobs.messages.job import ShowState, StateQuery
from spark_jobs.messages.state_answer import (
    MOST_ROWS,
    Measures,
    StateAnswer,
    StepAnswer,
    VariableAnswer,
    cells,
    told,
)
from spark_jobs.runs.told.state_query import StateTarget, format_batches, resolve
from spark_jobs.settings.installation import Settings
from spark_jobs.spec import Pipeline
from spark_jobs.spec.steps.expires import Variable
from spark_jobs.state import text
from spark_jobs.state.measures import Instants, expiry, key_sizes
from spark_jobs.state.reader import StateOperator, operators, read, shown
from spark_jobs.state.table import Table
from spark_jobs.state.text import row_changes
from spark_jobs.storage.root.path_forms import state_url
from spark_jobs.storage.root.paths import Paths

MAX_ROWS = 10_000
"""The largest number of rows of one key for which changes are computed."""
Reading = dict[Variable, Table]
"""The rows of a step's variables after one batch."""


class _Purged(StateUnreadable):
    """Spark has purged the state of the batch."""


def viewed(job: ShowState, spec: Pipeline, settings: Settings) -> Iterator[str]:
    return state_view(spec, settings, job.query)


def state_view(spec: Pipeline, settings: Settings, query: StateQuery) -> Iterator[str]:
    """Lines for a terminal.

    Raises StateUnreadable or StateIncompatible. Takes no lease; writes nothing under the root but
    the answer, if the query says to keep it.
    """
    target, now = resolve(spec, settings, query), datetime.now(UTC)
    spark = session(spec.name, target.spec.state, settings.root)
    answered = list[StepAnswer]()
    for index, number in enumerate(target.steps):
        if index:
            yield ""
        if query.changes:
            yield from _changes(spark, target, number, query)
            continue
        operator, reading = _read_variables(spark, target, number, target.batch, query.limit)
        yield from _state(target, number, operator, reading)
        if query.keep or query.measured:
            measures = _measures(spark, target, number, operator, reading, now)
            yield from told(measures)
            answered.append(_answer(target, number, operator, reading, measures))
    if query.keep:
        path = Paths(settings.root, spec).state_answer
        answer = StateAnswer(
            generation=target.generation,
            batch=target.batch,
            watermark=target.checkpoint.watermark(target.batch),
            read_at=now,
            steps=tuple(answered),
        )
        # Rows only where the installation shows bytes of records: keys are such.
        (answer if settings.record_bytes == "shown" else answer.without_rows()).write(path)
        yield f"kept for the views: {path}"


def _state(
    target: StateTarget, number: int, operator: StateOperator, reading: Reading
) -> Iterator[str]:
    yield _header(target, number, operator, _format_batch(target, target.batch))
    for table in reading.values():
        yield text.format_title(table)
        yield from text.format_rows(table)


def _measures(
    spark: SparkSession,
    target: StateTarget,
    number: int,
    operator: StateOperator,
    reading: Reading,
    now: datetime,
) -> Measures:
    checkpoint, batch = state_url(target.checkpoint.folder), target.batch
    since = Instants(target.checkpoint.watermark(batch), now)
    apart = target.spec.steps[number - 1].takes  # each side has stores of its own
    with _purged_meanwhile(target, batch):
        return Measures(
            key_sizes(spark, checkpoint, batch, operator)
            if target.spec.state.provider == "rocksdb" and not apart
            else None,
            tuple(
                expiry(spark, checkpoint, batch, operator, target.spec, number, table, since)
                for table in reading.values()
            ),
        )


def _answer(
    target: StateTarget,
    number: int,
    operator: StateOperator,
    reading: Reading,
    measures: Measures,
) -> StepAnswer:
    return StepAnswer(
        step=number,
        kind=target.spec.steps[number - 1].kind,
        operator=operator.name,
        partitions=operator.partitions,
        variables=tuple(
            VariableAnswer(
                title=text.format_title(table),
                total=table.total,
                columns=table.names,
                rows=tuple(
                    cells(tuple(map(text.format_value, row))) for row in table.rows[:MOST_ROWS]
                ),
            )
            for table in reading.values()
        ),
        sizes=measures.sizes,
        expiry=measures.expiry,
    )


def _changes(
    spark: SparkSession, target: StateTarget, number: int, query: StateQuery
) -> Iterator[str]:
    batches = [batch for batch in reversed(target.readable) if batch <= target.batch][
        : query.batches
    ]
    operator, after = _read_all_rows(spark, target, number, batches[0])
    yield _header(target, number, operator, f"changes of {format_batches(batches)}, newest first")
    for batch in batches:
        try:
            before = _read_all_rows(spark, target, number, batch - 1)[1] if batch else {}
        except _Purged:
            yield (
                f"batch {batch}: its changes are unknown, because Spark has purged the state "
                "before it"
            )
            return
        changes = [
            change
            for name in {**before, **after}
            for change in row_changes(before.get(name), after.get(name))
        ]
        yield (
            f"{_format_batch(target, batch)}: {len(changes) or 'no'} "
            f"change{'' if len(changes) == 1 else 's'}"
        )
        yield from (
            f"  {text.format_change(change, target.keys)}" for change in changes[: query.limit]
        )
        if len(changes) > query.limit:
            yield f"  and {len(changes) - query.limit:,} more: --limit shows more"
        after = before


def _read_variables(
    spark: SparkSession, target: StateTarget, number: int, batch: int, limit: int
) -> tuple[StateOperator, Reading]:
    checkpoint = state_url(target.checkpoint.folder)
    steps = target.spec.steps
    if batch not in target.readable:
        raise _purged(batch)
    with _purged_meanwhile(target, batch):
        found = operators(spark, checkpoint, batch)
        # A Join has an operator for each of its Deduplicates, before its own.
        at = sum(step.operators for step in steps[:number] if step.stateful) - 1
        operator = found[at]
        # Spark's own note is of the first batch, unless the step is a transformWithState.
        stores = target.checkpoint.stores(batch).get(operator.id, operator.partitions)
        operator = operator._replace(partitions=stores)
        tables = {
            variable: read(
                spark, checkpoint, batch, operator, variable, steps[number - 1], target.keys, limit
            )
            for variable in shown(operator.variables, steps[number - 1])
        }
    return operator, tables


@contextmanager
def _purged_meanwhile(target: StateTarget, batch: int) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if isinstance(error, SluiceError) or batch in target.checkpoint.readable():
            raise
        raise _purged(batch) from error


def _purged(batch: int) -> _Purged:
    return _Purged(f"the state of batch {batch} is purged.", "Name a later batch.")


def _read_all_rows(
    spark: SparkSession, target: StateTarget, number: int, batch: int
) -> tuple[StateOperator, Reading]:
    """Raises StateUnreadable above MAX_ROWS."""
    operator, tables = _read_variables(spark, target, number, batch, MAX_ROWS)
    most = max(table.total for table in tables.values())
    if most > MAX_ROWS:
        raise StateUnreadable.too_many_rows(
            rows=most,
            step=number,
            most=MAX_ROWS,
        )
    return operator, tables


def _header(target: StateTarget, number: int, operator: StateOperator, which: str) -> str:
    return (
        f"{target.spec.name}, generation {target.generation}, {which}, step {number} "
        f"{target.spec.steps[number - 1].kind} "
        f"({operator.name}), {operator.partitions} "
        f"partition{'s' if operator.partitions != 1 else ''}; "
        f"times are UTC; {format_batches(target.readable)} can be read"
    )


def _format_batch(target: StateTarget, batch: int) -> str:
    watermark = target.checkpoint.watermark(batch)
    return f"batch {batch}, " + (
        f"watermark {text.format_value(watermark)}" if watermark else "no watermark yet"
    )
