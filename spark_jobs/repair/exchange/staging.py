"""Staging: the rows that a repair computed, read without Spark, in the columns of the table.

`rows/` has all rows of the ranges; `changes/` has `op` (added, removed, changed) with the row
`before` and the row `after`.
"""

from __future__ import annotations

from collections import Counter
from itertools import repeat
from typing import TYPE_CHECKING, Final, Literal

import pyarrow as pa

from spark_jobs.errors import StagingStale
from spark_jobs.table.delta.answer import answer
from spark_jobs.table.delta.door import open_table
from spark_jobs.values.python_times import values_of

Side = Literal["before", "after"]
SIDES: Final[tuple[Side, Side]] = ("before", "after")

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    import deltalake

    from spark_jobs.repair.manifest import Manifest
    from spark_jobs.storage.root.paths import Paths


def new_rows(
    paths: Paths, manifest: Manifest, columns: pa.Schema, *, older: bool = False
) -> pa.Table:
    """The staged rows of the spans that differ, with the columns of the table.

    Raises StagingStale if the table has other columns now. `older`: the table has had these rows,
    and those that were added since are null in them.
    """
    stored = open_table(paths.staging(manifest.repair_id) / "rows")
    has = [field.name for field in stored.schema().fields]
    _refuse_other(paths, manifest, columns, has, older=older)
    return within(stored, manifest.position.sql(manifest.differing), columns)


def old_rows(paths: Paths, manifest: Manifest, columns: pa.Schema) -> pa.Table:
    """The rows of the same spans from before the swap: the staged ones without what was added or
    changed, with what was removed or changed.
    """
    new = new_rows(paths, manifest, columns, older=True)
    before, after = (
        changed_rows(paths, manifest, columns, side=side, older=True) for side in SIDES
    )
    return pa.concat_tables([without(new, after), before])


def changed_rows(
    paths: Paths,
    manifest: Manifest,
    columns: pa.Schema,
    *,
    side: Side,
    older: bool = False,
) -> pa.Table:
    """Of the rows that differ, those from before or after the swap. `older` as in `new_rows`."""
    changes = open_table(paths.staging(manifest.repair_id) / "changes")
    has = [field.name for field in arrow_schema(changes).field(side).type]
    _refuse_other(paths, manifest, columns, has, older=older)
    return select(changes, _fields(side, columns, has), f"`{side}` IS NOT NULL", columns)


def _refuse_other(
    paths: Paths, manifest: Manifest, columns: pa.Schema, has: list[str], *, older: bool
) -> None:
    if not ({*has} <= {*columns.names} if older else {*has} == {*columns.names}):
        raise StagingStale.columns_changed(
            table=paths.table,
            columns=", ".join(columns.names),
            repair=manifest.repair_id,
            computed=", ".join(has),
        )


def within(table: deltalake.DeltaTable, condition: str, columns: pa.Schema) -> pa.Table:
    """The table's rows for which the SQL condition holds; null in the columns that it lacks."""
    has = {field.name for field in table.schema().fields}
    what = [f"`{name}`" if name in has else f"NULL AS `{name}`" for name in columns.names]
    return select(table, what, condition, columns)


def select(
    table: deltalake.DeltaTable, what: list[str], condition: str, columns: Iterable[pa.Field]
) -> pa.Table:
    """Some expressions of the table's rows, as these columns."""
    sql = f"SELECT {', '.join(what)} FROM t WHERE {condition}"
    return answer(sql, {"t": table}).cast(pa.schema(columns))


def arrow_schema(table: deltalake.DeltaTable) -> pa.Schema:
    """The columns of an open table, as Arrow has them."""
    return pa.schema(table.schema().to_arrow())


def _fields(side: str, columns: pa.Schema, has: Collection[str]) -> list[str]:
    return [
        (f"get_field(`{side}`, '{name}')" if name in has else "NULL") + f" AS `{name}`"
        for name in columns.names
    ]


def same(one: pa.Table, other: pa.Table) -> bool:
    """Whether both have the same rows, each as often. Their columns are the same."""
    return one.num_rows == other.num_rows and Counter(texts(one)) == Counter(texts(other))


def without(rows: pa.Table, taken: pa.Table) -> pa.Table:
    """The rows without `taken`, each as often as it is there.

    Raises ValueError if one of them is not there.
    """
    left = Counter(texts(taken))
    kept = []
    for key in texts(rows):
        gone = left[key] > 0
        left[key] -= gone
        kept.append(not gone)
    if missing := sum(left.values()):
        message = f"{missing} of the rows to take away are not there"
        raise ValueError(message)
    return rows.filter(pa.array(kept, pa.bool_()))


def texts(rows: pa.Table) -> list[str]:
    """A text for each row: nested values have no hash, and one NaN is not equal to itself."""
    columns = [map(repr, values_of(column)) for column in rows.columns]
    if not columns:
        return [*repeat("", rows.num_rows)]
    return ["\0".join(values) for values in zip(*columns, strict=True)]
