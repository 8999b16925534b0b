"""Latest: the row of each key of a Latest from its changes, in Spark: what the sink makes by
Arrow, batch after batch (sink/keyed/).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.steps.canonical.copies import KNOWN, beside, columns, once, position
from spark_jobs.values.own_columns import (
    CONTENTS,
    DELETED,
    OF_A_KEY,
    SET,
    SET_CONTENTS,
    own,
    placed,
)

if TYPE_CHECKING:
    from spark_jobs.spec import Latest

_ROW, _THERE, _VALUE = own("row"), own("there"), own("value")
_SETS, _WAS = own("sets_"), own("was_")
"""The first letters of columns of fields: who sets it, and who did in the table's row."""


def latest_rows(changes: DataFrame, known: DataFrame, step: Latest) -> DataFrame:
    """`known` are rows of the table, which are changes too. The columns are the table's."""
    if step.missing == "keep":
        return _kept(changes, known, step)
    both = once(changes, known, step)
    newest = F.max_by(_whole(both), position(step)).alias(_ROW)
    return both.groupBy(*columns(step.keys)).agg(newest).select(f"{_ROW}.*")


def _kept(changes: DataFrame, known: DataFrame, step: Latest) -> DataFrame:
    """Each field has the value of the newest change that sets it; a delete sets all to null. What
    the table has stays where that is a copy of what set it, or nothing does.
    """
    own_ones = {*step.keys, *placed(step.order_by), *OF_A_KEY}
    fields = [name for name in known.columns if name not in own_ones]
    of = dict(zip(fields, range(len(fields)), strict=True))
    says = changes.select("*", *(_by_itself(name, step, f"{_SETS}{n}") for name, n in of.items()))
    in_row = (_in_row(name, known, step, f"{_SETS}{n}") for name, n in of.items())
    row = known.select("*", *in_row).drop(SET, SET_CONTENTS)
    found = (
        beside(says, row)
        .groupBy(*columns(step.keys))
        .agg(
            F.max_by(_whole(changes), position(step)).alias(_ROW),
            _of_table(_whole(changes)).alias(_THERE),
            *(F.max_by(set_, set_["at"]).alias(name) for name, set_ in _setters(of)),
            *(_of_table(set_).alias(f"{_WAS}{n}") for n, (_, set_) in enumerate(_setters(of))),
        )
    )
    made = {name: _value(name, n, step).alias(name) for name, n in of.items()}
    made[SET] = _by_field(of, "at").alias(SET)
    made[SET_CONTENTS] = _by_field(of, "contents").alias(SET_CONTENTS)
    return found.select(*(made.get(name, F.col(f"{_ROW}.`{name}`")) for name in known.columns))


def _by_itself(name: str, step: Latest, alias: str) -> Column:
    says = F.col(DELETED) | F.col(f"`{name}`").isNotNull()
    return F.when(says, _setter(name, position(step), F.col(CONTENTS))).alias(alias)


def _in_row(name: str, known: DataFrame, step: Latest, alias: str) -> Column:
    """As fold.py has it, also of rows of an older Sluice."""
    at, itself = F.try_element_at(SET, F.lit(name)), position(step)
    contents = F.when(at == itself, F.col(CONTENTS))
    if SET_CONTENTS in known.columns:
        contents = F.coalesce(F.try_element_at(SET_CONTENTS, F.lit(name)), contents)
    by_other = F.when(at.isNotNull(), _setter(name, at, contents))
    by_itself = _setter(name, itself, F.col(CONTENTS))
    return F.when(F.col(DELETED), by_itself).otherwise(by_other).alias(alias)


def _setter(name: str, at: Column, contents: Column) -> Column:
    value = F.col(f"`{name}`").alias(_VALUE)
    return F.struct(at.alias("at"), contents.alias("contents"), value)


def _setters(of: dict[str, int]) -> list[tuple[str, Column]]:
    return [(name, F.col(name)) for name in (f"{_SETS}{n}" for n in of.values())]


def _of_table(value: Column) -> Column:
    return F.first(F.when(F.col(KNOWN), value), ignorenulls=True)


def _value(name: str, n: int, step: Latest) -> Column:
    """Of the field, in the row of a key."""
    sets, was, row, there = (F.col(each) for each in (f"{_SETS}{n}", f"{_WAS}{n}", _ROW, _THERE))
    copied = (sets["contents"] == was["contents"]) & (row[DELETED] == there[DELETED])
    for each in step.order_by:
        copied &= sets["at"][each] == was["at"][each]
    stays = sets.isNull() | F.coalesce(copied, F.lit(False))
    return F.when(stays, there[name]).otherwise(sets[_VALUE])


def _by_field(of: dict[str, int], part: str) -> Column:
    """A map: field -> this part of its setter, if that is known."""
    parts = {name: F.col(f"{_SETS}{n}")[part] for name, n in of.items()}
    entries = (F.struct(F.lit(name), each.alias("of")) for name, each in parts.items())
    return F.map_from_entries(F.filter(F.array(*entries), lambda each: each["of"].isNotNull()))


def _whole(rows: DataFrame) -> Column:
    return F.struct(*columns(rows.columns))
