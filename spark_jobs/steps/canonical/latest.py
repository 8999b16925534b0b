"""Latest: the row of each key of a Latest from its changes, in Spark: what the sink makes by
Arrow, batch after batch (sink/keyed/).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.values.own_columns import DELETED, OF_A_KEY, SET, own, placed

if TYPE_CHECKING:
    from spark_jobs.spec import Latest
    from spark_jobs.spec.steps.following import Following

_ROW, _AT, _VALUE = own("row"), own("at_"), own("value_")


def latest_rows(changes: DataFrame, known: DataFrame, step: Latest) -> DataFrame:
    """`known` are rows of the table, which are changes too. The columns are the table's."""
    both = changes.unionByName(known)
    if not step.highest_decides:
        return folded(both, step.keys, step)
    newest = F.max_by(_whole(both), _position(step)).alias(_ROW)
    return both.groupBy(*_quoted(step.keys)).agg(newest).select(f"{_ROW}.*")


def folded(both: DataFrame, keys: tuple[str, ...], step: Following) -> DataFrame:
    """A row of each of these keys: each field has the value of the newest change that sets it; a
    delete sets all to null.
    """
    columns, own_ones = both.columns, {*step.placed, *OF_A_KEY}
    fields = [name for name in columns if name not in own_ones]
    of = dict(zip(fields, range(len(fields)), strict=True))
    whole = _whole(both)
    both = both.select("*", *(_set_by(name, step, f"{_AT}{n}") for name, n in of.items()))
    found = both.groupBy(*_quoted(keys)).agg(
        F.max_by(whole, _position(step)).alias(_ROW),
        *(F.max_by(f"`{name}`", f"{_AT}{n}").alias(f"{_VALUE}{n}") for name, n in of.items()),
        *(F.max(f"{_AT}{n}").alias(f"{_AT}{n}") for n in of.values()),
    )
    entries = (F.struct(F.lit(name), F.col(f"{_AT}{n}").alias("at")) for name, n in of.items())
    set_by = F.map_from_entries(F.filter(F.array(*entries), lambda each: each["at"].isNotNull()))
    return found.select(
        *(
            F.col(f"{_VALUE}{of[name]}").alias(name)
            if name in of
            else set_by.alias(SET)
            if name == SET
            else F.col(f"{_ROW}.`{name}`")
            for name in columns
        )
    )


def _set_by(name: str, step: Following, alias: str) -> Column:
    by_a_change = F.try_element_at(SET, F.lit(name))
    return F.when(F.col(DELETED), _position(step)).otherwise(by_a_change).alias(alias)


def _whole(rows: DataFrame) -> Column:
    return F.struct(*_quoted(rows.columns))


def _position(step: Following) -> Column:
    return F.struct(*_quoted(placed(step.order_by)))


def _quoted(names: tuple[str, ...] | list[str]) -> list[Column]:
    return [F.col(f"`{name}`") for name in names]
