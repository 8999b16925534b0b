"""Latest: the row of each key of a Latest from its changes, in Spark: what the sink makes by
Arrow, batch after batch (sink/keyed/).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.steps.canonical.copies import KNOWN, beside, columns, once, position
from spark_jobs.values.own_columns import CONTENTS, DELETED, OF_A_KEY, SET, SET_CONTENTS, own

if TYPE_CHECKING:
    from spark_jobs.spec import Latest
    from spark_jobs.spec.steps.following import Following

_ROW, _THERE, _VALUE = own("row"), own("there"), own("value")
NEW: Final = own("new")
_SETS, _WAS = own("sets_"), own("was_")
"""The first letters of columns of fields: who sets it, and who did in the table's row."""


def latest_rows(changes: DataFrame, known: DataFrame, step: Latest) -> DataFrame:
    """`known` are rows of the table, which are changes too. The columns are the table's."""
    if not step.highest_decides:
        return folded(changes, known, step.keys, step).drop(NEW)
    both = once(changes, known, step)
    newest = F.max_by(_whole(both), position(step)).alias(_ROW)
    return both.groupBy(*columns(step.keys)).agg(newest).select(f"{_ROW}.*")


def folded(
    changes: DataFrame, known: DataFrame, keys: tuple[str, ...], step: Following
) -> DataFrame:
    """A row of each of these keys, with the table's columns: each field has the value of the newest
    change that sets it; a delete sets all to null. What the table has stays where that is a copy of
    what set it, or nothing does. `known` has at most one row of each.

    With NEW: the fields that another change sets than what the table has; null where the row
    is another one than the table's.
    """
    own_ones = {*step.placed, *OF_A_KEY}
    fields = [name for name in known.columns if name not in own_ones]
    of = dict(zip(fields, range(len(fields)), strict=True))
    set_by = [(name, f"{_SETS}{n}") for name, n in of.items()]
    says, row = (
        each.select("*", *(_set_by(name, each, step).alias(as_) for name, as_ in set_by)).drop(
            SET, SET_CONTENTS
        )
        for each in (changes, known)
    )
    setters = [(as_, F.col(as_)) for _, as_ in set_by]
    both = beside(says, row)
    whole = _whole(both.drop(KNOWN, *(as_ for _, as_ in set_by)))
    found = both.groupBy(*columns(keys)).agg(
        F.max_by(whole, position(step)).alias(_ROW),
        _of_table(whole).alias(_THERE),
        *(F.max_by(set_, set_["at"]).alias(name) for name, set_ in setters),
        *(_of_table(set_).alias(f"{_WAS}{n}") for n, (_, set_) in enumerate(setters)),
    )
    made = {name: _value(name, n, step).alias(name) for name, n in of.items()}
    made[SET] = _by_field(of, "at").alias(SET)
    made[SET_CONTENTS] = _by_field(of, "contents").alias(SET_CONTENTS)
    told = [made.get(name, F.col(f"{_ROW}.`{name}`")) for name in known.columns]
    known_set = [F.col(f"{_SETS}{n}")["at"] == F.col(f"{_WAS}{n}")["at"] for n in of.values()]
    old = [_stays(n, step) | F.coalesce(known_set[n], F.lit(False)) for n in of.values()]
    new = (F.when(~old[n], F.lit(name)) for name, n in of.items())
    same = [F.col(_ROW)[name] == F.col(_THERE)[name] for name in (CONTENTS, DELETED)]
    is_tables = F.coalesce(same[0] & same[1], F.lit(False))
    return found.select(*told, F.when(is_tables, F.array_compact(F.array(*new))).alias(NEW))


def _set_by(name: str, rows: DataFrame, step: Following) -> Column:
    """Who set the field, as of its row: as sink/keyed/setters.py has it."""
    at, itself = F.try_element_at(SET, F.lit(name)), position(step)
    contents = F.when(at == itself, F.col(CONTENTS))
    if SET_CONTENTS in rows.columns:
        contents = F.coalesce(F.try_element_at(SET_CONTENTS, F.lit(name)), contents)
    value = F.col(f"`{name}`").alias(_VALUE)

    def setter(at: Column, contents: Column) -> Column:
        return F.struct(at.alias("at"), contents.alias("contents"), value)

    by_a_change = F.when(at.isNotNull(), setter(at, contents))
    return F.when(F.col(DELETED), setter(itself, F.col(CONTENTS))).otherwise(by_a_change)


def _of_table(value: Column) -> Column:
    return F.first(F.when(F.col(KNOWN), value), ignorenulls=True)


def _value(name: str, n: int, step: Following) -> Column:
    """Of the field, in the row of a key."""
    return F.when(_stays(n, step), F.col(_THERE)[name]).otherwise(F.col(f"{_SETS}{n}")[_VALUE])


def _stays(n: int, step: Following) -> Column:
    """Whether the field's value is the table's: nothing sets it, or a copy of what did."""
    sets, was, row, there = (F.col(each) for each in (f"{_SETS}{n}", f"{_WAS}{n}", _ROW, _THERE))
    copied = (sets["contents"] == was["contents"]) & (row[DELETED] == there[DELETED])
    for each in step.order_by:
        copied &= sets["at"][each] == was["at"][each]
    return sets.isNull() | F.coalesce(copied, F.lit(False))


def _by_field(of: dict[str, int], part: str) -> Column:
    """A map: field -> this part of its setter, if that is known."""
    parts = {name: F.col(f"{_SETS}{n}")[part] for name, n in of.items()}
    entries = (F.struct(F.lit(name), each.alias("of")) for name, each in parts.items())
    return F.map_from_entries(F.filter(F.array(*entries), lambda each: each["of"].isNotNull()))


def _whole(rows: DataFrame) -> Column:
    return F.struct(*columns(rows.columns))
