"""Keyed account: the account of a batch of changes, held against the table's log.

The sink counts what becomes of each change when it has compared it with the table before
(steps/keyed/fates.py). Spark counts the changes. Delta counts the rows that the commit wrote; the
statistics of the table's files say by how many rows it has grown, and its change feed which rows
have other contents.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.steps.keyed.fates import Fates
from spark_jobs.table.arrow_rows import few
from spark_jobs.table.tables import own_table, size_at
from spark_jobs.values.own_columns import DELETED, OF_A_KEY, own

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upath import UPath

    from spark_jobs.audit.written import Written
    from spark_jobs.messages.offset_account import Account
    from spark_jobs.spec.steps.following import Following

LOG = logging.getLogger(__name__)
KIND: Final = "_change_type"
_AT, _BEFORE = own("at"), own("before_")


class Keyed(NamedTuple):
    """What three of them say of a batch."""

    fates: Fates
    written: int
    """Rows, by the metrics of the commit."""
    gained: int | None
    """Rows that are no deletes, by the statistics of the files; None if the log has none."""
    changed: int | None = None
    """Rows with other contents, by the change feed, where copies were written; None if it was not
    read.
    """

    def told(self, account: Account) -> Account:
        """The account with what became of the accepted changes, and with both differences."""
        fates = self.fates
        found = (account.unaccounted or 0) + abs(fates.written - self.written)
        if self.gained is not None:
            found += abs(fates.gained - self.gained)
        if self.changed is not None:  # an update may set what was there
            found += max(0, self.changed - fates.updated - fates.ended)
        counts = fates._asdict()
        for part in ("moved", "ending", "ended", "behind"):
            del counts[part]
        rows = {"rows_out": fates.inserted + fates.updated, "unaccounted": found}
        return account.model_copy(update=counts | rows)


def keyed(table: UPath, written: Written | None, step: Following) -> Keyed:
    """Of the batch's commit; a batch without changes has none."""
    if written is None:
        return Keyed(Fates(), 0, 0)
    fates = written.fates or Fates()
    changed = (
        changed_contents(table, written.version, step.row_key, step.spans) if fates.moved else None
    )
    return Keyed(fates, written.rows, gained(table, written.version), changed)


def gained(path: UPath, version: int) -> int | None:
    """By how many rows that are no deletes this version has more than the one before it; None if
    the log does not tell.
    """
    before, after = (size_at(path, each) for each in (version - 1, version))
    return None if before is None or after is None else after.live - before.live


def changed_contents(
    path: UPath, version: int, key: Sequence[str], spans: Sequence[str]
) -> int | None:
    """The rows of this version, by their key, that live before and behind it and have another value
    in a column that is neither Sluice's own nor of `spans`. None if there is much, or the feed
    cannot be read.
    """
    try:
        feed = own_table(path).feed(version)
        found = None if feed is None else few(feed)
        return None if found is None else _changed(found, key, spans)
    except Exception as error:  # noqa: BLE001 - the account has other sources; a run goes on
        LOG.debug("%s: the feed of version %d is not read: %s", path, version, error)
        return None


def _changed(found: list[pa.RecordBatch], key: Sequence[str], spans: Sequence[str]) -> int:
    if not found:
        return 0
    rows = pa.Table.from_batches(found)
    plain = pa.schema([field.with_type(_plain(field.type)) for field in rows.schema])
    rows = rows.cast(plain)
    lives = rows.filter(pc.invert(pc.fill_null(rows[DELETED], fill_value=False)))
    before, after = (
        lives.filter(pc.equal(lives[KIND], f"update_{image}image")) for image in ("pre", "post")
    )
    pairs = _numbered(before, key, _BEFORE).join(
        _numbered(after, key, _AT), [*key], join_type="inner"
    )
    was, is_ = before.take(pairs[_BEFORE]), after.take(pairs[_AT])
    told = {KIND, "_commit_version", "_commit_timestamp", *OF_A_KEY, *spans}
    names = [name for name in rows.column_names if name not in told]
    differs = pa.array([False] * pairs.num_rows, pa.bool_())
    for name in names:
        differs = pc.or_(differs, _differ(was[name], is_[name]))
    return int(pc.sum(differs).as_py() or 0)


def _numbered(rows: pa.Table, key: Sequence[str], name: str) -> pa.Table:
    return rows.select([*key]).append_column(name, pa.array(range(rows.num_rows), pa.int64()))


def _plain(kind: pa.DataType) -> pa.DataType:
    """Without the views that delta-rs gives: Arrow neither takes nor joins them."""
    match kind:
        case pa.MapType():
            return pa.map_(_plain(kind.key_type), _plain(kind.item_type))
        case pa.ListType():
            return pa.list_(_plain(kind.value_type))
        case pa.StructType():
            return pa.struct([field.with_type(_plain(field.type)) for field in kind])
    return {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}.get(kind, kind)


def _differ(one: pa.ChunkedArray, other: pa.ChunkedArray) -> pa.Array:
    """As texts where Arrow compares none, and of doubles: NaN is equal to itself."""
    if pa.types.is_nested(one.type) or pa.types.is_floating(one.type):
        pairs = zip(one.to_pylist(), other.to_pylist(), strict=True)
        return pa.array([repr(a) != repr(b) for a, b in pairs], pa.bool_())
    nulls = pc.xor(pc.is_null(one), pc.is_null(other))
    return pc.or_(nulls, pc.fill_null(pc.not_equal(one, other), fill_value=False)).combine_chunks()
