"""Records: how `sluice where` is asked for the records that are in a row of a table.

All of them, and none is looked for by halves. A row of one record is that record's, so `where` is
exact. A group's measure is made by each of its records: halves would only name whichever came last.
And a window's row comes with a batch that has read none of them.
"""

from __future__ import annotations

from datetime import date, datetime
from shlex import quote
from typing import TYPE_CHECKING, Any

from spark_jobs.source.place import Place
from spark_jobs.spec.analysis.late_rule import micros
from spark_jobs.spec.analysis.lateness import keeps_time
from spark_jobs.spec.columns import Origin, Origins
from spark_jobs.values.own_columns import AT_ELEMENT, OFFSET, PARTITION
from spark_jobs.values.spans import EPOCH, Position, Span
from spark_jobs.where.in_table import equals

if TYPE_CHECKING:
    from spark_jobs.spec import Pipeline

START, END = "window_start", "window_end"


def asked_by(spec: Pipeline, row: dict[str, Any]) -> str:
    """The command, of a row with all columns of the table; empty where these do not tell which
    records it has. Of copies it finds each.
    """
    if spec.keyed:  # the row says which record it is; a person's says nothing
        if row[PARTITION] is None:
            return ""
        place = Place.at(row[PARTITION], row[OFFSET], row.get(AT_ELEMENT))
        return f"sluice where {spec.name} {place.text(spec.inputs.shown)}"
    key = condition(spec, row)
    return key and f"sluice where {spec.name} --key {quote(key)}"


def condition(spec: Pipeline, row: dict[str, Any]) -> str:
    """SQL over the topic's fields for the records that are in the row; empty if there is none."""
    steps, last = spec.steps[spec.first_stateful :], spec.steps[-1]
    names = last.grouping_keys
    if names is None:
        names = spec.inputs.columns if all(step.keeps_rows for step in steps) else ()
    before = (step for step in spec.steps if step is not last)
    origins: Origins = {name: (Origin(name, "identity"),) for name in spec.inputs.columns}
    for step in before:
        if step.by_code or step.grouping_keys is not None:
            return ""
        origins = step.origins_after(origins, spec.inputs.event_time)
    if last.by_code or any(origins.get(name) != (Origin(name, "identity"),) for name in names):
        return ""
    types = spec.inputs.types
    told = [_same(name, row[name], types[name]) for name in names if name in row]
    if last.grouping_keys is None:  # what has no comparison is left out: more records are found
        return " AND ".join(filter(None, told))
    if last.grouping_window is not None:
        if not (keeps_time(spec) and {START, END} <= row.keys()):
            return ""
        told.append(Position(spec.inputs.event_time).sql([Span(row[START], row[END])]))
    return "" if "" in told else " AND ".join(told)


def _same(name: str, value: Any, kind: str) -> str:
    """Spark reads what follows a backslash otherwise."""
    if isinstance(value, datetime):
        value = micros(value)
    elif isinstance(value, date):
        value = (value - EPOCH.date()).days
    return "" if "\\" in str(value) else equals(name, value, kind)
