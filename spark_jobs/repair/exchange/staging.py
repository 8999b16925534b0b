"""Staging: the rows that a repair computed, read without Spark, in the columns of the table.

`rows/` has all rows of the ranges; `changes/` has `op` (added, removed, changed) with the row
`before` and the row `after`.
"""

from __future__ import annotations

import logging
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import pyarrow as pa

from spark_jobs.checkpoint.lease import holder, lease
from spark_jobs.errors import StagingStale
from spark_jobs.errors.base import visible
from spark_jobs.messages.withheld import SETTING
from spark_jobs.settings.installation import record_bytes
from spark_jobs.storage.folders import newest_change, remove_folder
from spark_jobs.table.tables import own_table
from spark_jobs.values.python_times import rows_of, values_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from upath import UPath

    from spark_jobs.repair.manifest import Manifest
    from spark_jobs.storage.root.paths import Paths
    from spark_jobs.table.port import Table

Side = Literal["before", "after"]
SIDES: Final[tuple[Side, Side]] = ("before", "after")


def new_rows(
    paths: Paths, manifest: Manifest, columns: pa.Schema, *, older: bool = False
) -> pa.Table:
    """The staged rows of the spans that differ, with the columns of the table.

    Raises StagingStale if the table has other columns now. `older`: the table has had these rows,
    and those that were added since are null in them.
    """
    stored = own_table(paths.staging(manifest.repair_id) / "rows")
    has = [*stored.columns()]
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
    changes = own_table(paths.staging(manifest.repair_id) / "changes")
    has = [field["name"] for field in changes.columns()[side]["fields"]]
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


def within(
    table: Table, condition: str, columns: pa.Schema, version: int | None = None
) -> pa.Table:
    """The version's rows for which the SQL condition holds; null in the columns that it lacks."""
    has = table.arrow(version).names
    what = [f"`{name}`" if name in has else f"NULL AS `{name}`" for name in columns.names]
    return select(table, what, condition, columns, version)


def select(
    table: Table,
    what: list[str],
    condition: str,
    columns: Iterable[pa.Field],
    version: int | None = None,
) -> pa.Table:
    """Some expressions of the version's rows, as these columns."""
    sql = f"SELECT {', '.join(what)} FROM t WHERE {condition}"
    return table.query(sql, version=version).cast(pa.schema(columns))


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


LOG = logging.getLogger(__name__)
ROWS = 20
LONGEST = 60
"""Characters of a value."""


def sample(staging: UPath) -> list[dict[str, Any]]:
    """Up to ROWS rows of a staging's changes, first those that no record explains; none without a
    table of changes.

    Keys: op, before, after and explained, as in staged.py. A filter of PyArrow's dataset would find
    nothing: Spark writes no bounds of a boolean column into the log.
    """
    changes = own_table(staging / "changes")
    if not changes.exists():
        return []
    sql = f"SELECT op, before, after, explained FROM changes ORDER BY explained LIMIT {ROWS}"
    return rows_of(changes.query(sql, "changes"))


def sample_lines(rows: list[dict[str, Any]]) -> list[str]:
    r"""A line for each row of a sample, for a terminal or a log; none without rows. Of a changed
    row each value that differs is told as before -> after.

    >>> old, new = {"carrier": "UA\x1b", "flights": 12}, {"carrier": "UA\x1b", "flights": 13}
    >>> sample_lines([{"op": "changed", "before": old, "after": new, "explained": False}])
    ['1 of the rows that differ:', '  changed, unexplained: carrier UA\\x1b, flights 12 -> 13']
    """
    if not rows:
        return []
    return [f"{len(rows)} of the rows that differ:", *(f"  {_line(row)}" for row in rows)]


def log_sample(staging: UPath) -> None:
    """Nobody is asked about a stage that failed, so its log shows the rows, if values may be."""
    changes = staging / "changes"
    if not record_bytes():
        LOG.warning("the rows that differ are in %s. %s", changes, SETTING)
        return
    try:
        for line in sample_lines(sample(staging)):
            LOG.warning("%s", line)
    except Exception as error:  # noqa: BLE001 - whatever delta-rs or the store threw, the verdict stands
        LOG.warning("the rows that differ are in %s: %s", changes, error)


def _line(row: dict[str, Any]) -> str:
    before, after = row["before"], row["after"]
    old, new = before or after, after or before
    told = (
        f"{name} {_text(value)}" + ("" if new[name] == value else f" -> {_text(new[name])}")
        for name, value in old.items()
    )
    return f"{row['op']}{'' if row['explained'] else ', unexplained'}: {', '.join(told)}"


def _text(value: object) -> str:
    return visible(str(value), LONGEST)


KEPT = timedelta(days=30)
"""How long a staged repair can be swapped in, or undone."""
BEGUN = timedelta(days=1)
"""How long after its last file a repair without a manifest may still be going on: between its plan
and its stage it holds no lease.
"""


class Leftover(NamedTuple):
    """A staging folder to remove."""

    folder: UPath
    why: str


def leftovers(paths: Paths, now: datetime | None = None) -> list[Leftover]:
    """The pipeline's staging folders to remove; none while a repair is computed."""
    if not paths.stagings.exists() or holder(paths.staging_lease):
        return []
    found = (_leftover(folder, now or datetime.now(UTC)) for folder in paths.stagings.iterdir())
    return sorted(each for each in found if each)


def remove_leftovers(paths: Paths, found: list[Leftover], who: str) -> None:
    """Remove them. Raises LeaseHeld if a repair has begun to be computed since."""
    with lease(paths.staging_lease, who):
        for leftover in found:
            remove_folder(leftover.folder)


def _leftover(folder: UPath, now: datetime) -> Leftover | None:
    changed = newest_change(folder)
    if changed is None or changed < now - KEPT:
        return Leftover(folder, f"it is older than {KEPT.days} days")
    if not (folder / "manifest.json").exists() and changed < now - BEGUN:
        return Leftover(folder, "it has no manifest.json: the repair was cut off")
    return None
