"""Misspelt: names in a step's SQL that no column has, where a column's name is near. Spark finds
every unknown one (`sluice validate --deep`); this is text alone.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Final

from spark_jobs.spec import Pipeline
from spark_jobs.spec.columns import Columns, Origin, Origins
from spark_jobs.spec.sql import names_in

NEAR: Final = 0.8
"""Of difflib."""
WORDS: Final = """
all and any asc at between both by case collate current current_catalog current_database
current_date current_timestamp current_time current_user default desc distinct div else end
escape exists false filter first following for from group ilike in interval is last leading like
localtimestamp not null nulls of on or order over partition preceding range regexp respect rlike
row rows session_user some symmetric then time to trailing true unbounded unknown user when
where with within zone as
bigint binary boolean byte char character date dec decimal double float int integer long map
numeric real short smallint string struct text timestamp timestamp_ltz timestamp_ntz tinyint
varchar variant void array
year years quarter quarters month months week weeks day days dayofweek hour hours minute minutes
second seconds millisecond milliseconds microsecond microseconds
"""
"""What stands in an expression of Spark's and is no column, without being called."""


def misspelt(spec: Pipeline) -> Iterator[str]:
    """A line for each such name of an expression over a step's input."""
    columns: Columns = spec.inputs.columns
    words = {*WORDS.split()}
    for number, step in enumerate(spec.steps, 1):
        known = {name.lower() for name in columns or ()}
        for each in step.sql_texts:
            for name in () if each.query else sorted(names_in(each.text) - known - words):
                for close in difflib.get_close_matches(name, known, n=1, cutoff=NEAR):
                    yield (
                        f"step {number} ({step.kind}), {each.field}: {name!r} is no column. "
                        f"Did you mean {close}?"
                    )
        columns = step.columns_after(columns)


def columns_of(spec: Pipeline) -> Columns:
    """Those of the table; None where only Spark knows them."""
    columns: Columns = spec.inputs.columns
    for step in spec.steps:
        columns = step.columns_after(columns)
    return columns


def types_of(spec: Pipeline) -> dict[str, str] | None:
    """Column of the table -> its Spark SQL type; None where only Spark knows all of them."""
    columns, types = columns_of(spec), spec.inputs.types
    for step in spec.steps:
        types = step.types_after(types)
    return None if columns is None or {*columns} - types.keys() else types


def origins_of(spec: Pipeline, of_input: str = "") -> Origins:
    """The origins of the table's columns; of one input alone, where it is named."""
    origins: Origins = {name: (Origin(name, "identity"),) for name in spec.inputs.columns}
    time: str | None = spec.inputs.event_time
    for step in spec.steps:
        if of_input and (found := step.pairs(of_input)):
            known = origins
            origins = {new: known[old] for new, old in found.columns.items() if old in known}
        else:
            origins = step.origins_after(origins, time)
        time = step.time_after(time)
    return origins
