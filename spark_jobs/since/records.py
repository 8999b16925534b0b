"""Records: which records are in some rows of a table, as far as the rows' columns tell."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from spark_jobs.repair.offsets.slices import Index
from spark_jobs.source.place import Place
from spark_jobs.spec.analysis.late_rule import micros
from spark_jobs.spec.analysis.lateness import keeps_time
from spark_jobs.spec.columns import Origin, Origins
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values.own_columns import OFFSET, PARTITION
from spark_jobs.values.spans import EPOCH, Position, Span, any_of
from spark_jobs.where.again import Reader
from spark_jobs.where.ask import Question
from spark_jobs.where.asked import MOST, parts_of, union
from spark_jobs.where.in_table import BY_CODE, UNCOMPARED, InTable, equals
from spark_jobs.where.kept import Kept
from spark_jobs.where.known import Known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.positions import Parts
    from spark_jobs.spec import Pipeline
    from spark_jobs.spec.steps.step import Step
    from spark_jobs.where.again import Ask
    from spark_jobs.where.known import Accounted

START, END = "window_start", "window_end"


def records(
    spec: Pipeline,
    settings: Settings,
    ask: Ask,
    batch: Accounted,
    rows: Sequence[dict[str, Any]],
) -> tuple[list[Place], str]:
    """Those of the batches up to this one that are in these rows, with their copies; and what
    cannot be told of them. The rows have all columns of the table. Raises Failed, and what reading
    Kafka does.
    """
    if not rows:
        return [], "the condition is of no single row"
    if spec.keyed:  # a row says which record it is
        return sorted(Place(row[PARTITION], row[OFFSET]) for row in rows), ""
    paths = Paths(settings.root, spec)
    grouped = next((step for step in spec.steps if step.grouping_keys is not None), None)
    if why := _untold(spec, paths, grouped):
        return [], why
    conditions = [_of_row(spec, grouped, row) for row in rows]
    if not all(conditions):
        return [], UNCOMPARED
    enters = [step.condition for step in spec.before_state if step.condition is not None]
    known = Known.read(paths, spec)
    assert known is not None
    reader = Reader.of(spec, settings, known, ask)
    parts = _parts(known, batch, grouped, rows)
    asked = Question(
        asked={batch.id: {}}, beside=parts, earliest=reader.earliest,
        key=" AND ".join(f"({each}\n)" for each in (any_of(conditions), *enters)), most=MOST + 1,
    )  # fmt: skip
    found = sorted(ask(asked))
    kept = Kept.read(known, parts_of(found))
    untold = {
        f"there are more than {MOST:,}": len(found) > MOST,
        "some are nowhere any more": bool(reader.nowhere(parts)),
        "a Transform may have left some of them out": any(
            step.condition is None for step in spec.before_state
        ),
    }
    places = [place for place in found[:MOST] if kept.rejected(place, None) is None]
    return places, "; ".join(why for why, holds in untold.items() if holds)


def _untold(spec: Pipeline, paths: Paths, grouped: Step | None) -> str:
    """Why the columns of a row do not tell its records; empty if they do."""
    if any(step.by_code for step in spec.steps):
        return BY_CODE
    if grouped is None:
        keeps = InTable(spec, paths, ()).keeps_records
        return "" if keeps else "a step makes other columns than the records have"
    if grouped is not spec.steps[-1]:
        return "a step behind the groups makes other columns"
    origins: Origins = {name: (Origin(name, "identity"),) for name in spec.inputs.columns}
    for step in spec.before_state:
        origins = step.origins_after(origins, spec.inputs.event_time)
    same = all(
        origins.get(key) == (Origin(key, "identity"),) for key in grouped.grouping_keys or ()
    )
    return "" if same and keeps_time(spec) else "a step computes what the groups are made of"


def _of_row(spec: Pipeline, grouped: Step | None, row: dict[str, Any]) -> str:
    """SQL (Spark's) for the records that are in the row; empty if a column has no comparison."""
    names = spec.inputs.columns if grouped is None else grouped.grouping_keys or ()
    types = spec.inputs.types
    told = [_same(name, row[name], types[name]) for name in names]
    if grouped is None:  # what has no comparison is left out: copies have the same there
        return " AND ".join(filter(None, told))
    if grouped.grouping_window is not None:
        told.append(Position(spec.inputs.event_time).sql([Span(row[START], row[END])]))
    return "" if "" in told else " AND ".join(told) or "true"


def _same(name: str, value: Any, kind: str) -> str:
    """Spark reads what follows a backslash otherwise."""
    if isinstance(value, datetime):
        value = micros(value)
    elif isinstance(value, date):
        value = (value - EPOCH.date()).days
    return "" if "\\" in str(value) else equals(name, value, kind)


def _parts(
    known: Known, batch: Accounted, grouped: Step | None, rows: Sequence[dict[str, Any]]
) -> Parts:
    """Where the records may be: in the batch that wrote the row, or up to it at the row's times."""
    if grouped is None:
        return batch.start.parts(batch.end)
    if grouped.grouping_window is None:
        return known.begins.parts(batch.end)
    index = Index.read(known.paths, known.generations, known.begins, batch.end)
    return union(index.overlapping([Span(row[START], row[END]) for row in rows]), index.lacking)
