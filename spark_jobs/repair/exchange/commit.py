"""Commit: the rows of some spans replaced by others, in one commit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.errors import StagingStale, SwapRefused, TableContended
from spark_jobs.repair.exchange.preconditions import Claim
from spark_jobs.repair.exchange.staging import same, select, within
from spark_jobs.repair.manifest import Manifest
from spark_jobs.storage.root.path_forms import sql_table
from spark_jobs.table import history
from spark_jobs.table.open_version import Opened, Overtaken, Said, Unwritten
from spark_jobs.table.port import Table
from spark_jobs.table.tables import table_of

if TYPE_CHECKING:
    import pyarrow as pa

    from spark_jobs.storage.lease_view import Held
    from spark_jobs.storage.root.paths import Paths
    from spark_jobs.values.spans import Position, Span

Rows = Callable[["pa.Schema"], "pa.Table"]
"""Gives rows of the table with these columns."""


class Base(NamedTuple):
    """The rows of a table within some spans, at one version."""

    table: Table
    version: int
    position: Position
    spans: tuple[Span, ...]
    kept: Rows | None = None
    """Gives the rows of the version, where they are kept beside the table."""

    def at(self, version: int) -> Base:
        """The same rows, found at this version too."""
        return self._replace(version=version)

    def touched(self) -> bool:
        """Whether a later version may have changed one of the rows, as far as the log alone tells:
        it reads no row. True if the log no longer tells.
        """
        found = self.table.changes(self.version)
        if found is None or found.since > self.version:
            return True
        return any(each.touches(self.position.column, self.spans) for each in found.commits)

    def compared(self) -> Base:
        """This, at the newest version. Raises StagingStale if the rows are others there."""
        newest = self.table.version()
        if not self.touched():
            return self.at(newest)
        columns = self.table.arrow(newest)
        before = self.kept(columns) if self.kept else self._read(columns)
        now = within(self.table, self._condition, columns, newest)
        if before is None or not same(before, now):
            raise self._stale("are others now")
        return self.at(newest)

    @property
    def _condition(self) -> str:
        return self.position.sql(self.spans)

    def _read(self, columns: pa.Schema) -> pa.Table | None:
        try:
            if not {*self.table.arrow(self.version).names} <= {*columns.names}:
                return None
            return within(self.table, self._condition, columns, self.version)
        except Exception as error:  # noqa: BLE001 - delta-rs's queries raise nothing more exact
            told = f"VACUUM may have removed them: {str(error).splitlines()[0]}"
            raise self._stale(f"cannot be read any more ({told})") from None

    def _stale(self, how: str) -> StagingStale:
        return StagingStale.rows_changed(
            table=self.table.path,
            version=self.version,
            how=how,
        )


Write = Callable[[Opened, Said], None]
"""Makes the commit."""


class Prepared(NamedTuple):
    """All that a commit needs, made before the lease."""

    base: Base
    """The rows that go, as they were compared."""
    write: Write | None
    """Makes it; None if nothing differs."""


FEW_SPANS = 8
"""Up to so many, the commit's condition is one of spans. delta-rs evaluates it for each file: 64 of
them took 1.3 s in a table of 1,000 files, and a list of their positions 0.2 s.
"""
MOST_POSITIONS = 1_000
"""In a list: windows have few positions, and events have many."""


def condition(table: Table, manifest: Manifest, rows: pa.Table) -> str:
    """The SQL condition for the rows of the spans that differ. Where it is one of the positions
    that rows have, the table has no others: under the lease it is as it was compared.
    """
    position = manifest.position
    spans = position.sql(manifest.differing)
    if len(manifest.differing) <= FEW_SPANS:
        return spans
    column = table.arrow().field(position.column)
    live = select(table, [f"DISTINCT `{position.column}`"], spans, [column])
    times = {*live[position.column].to_pylist(), *rows[position.column].to_pylist()}
    return position.sql_among(sorted(times)) if 0 < len(times) <= MOST_POSITIONS else spans


def overwriting(rows: pa.Table, where: str) -> Write:
    """Replaces the rows for which the condition holds; delta-rs refuses others."""

    def write(table: Opened, said: Said) -> None:
        table.overwrite(rows, where, said)

    return write


def passed(paths: Paths, version: int) -> int:
    """The newest version of the table, up to this one, whose rows have all passed; -1 without one.
    The lease is held.
    """
    cursor = read_cursor(paths.cursor)
    judged = cursor.judged_table_version
    if judged is None:
        return -1
    if cursor.judged != cursor.audited or history.rows_changed(table_of(paths), judged, version):
        return judged
    return version


def replace(paths: Paths, base: Base, claim: Claim, write: Write, held: Held) -> int:
    """Replace rows; the commit's version. The lease is held, and `base` are the rows that go.

    delta-rs commits a transaction id a second time, so the caller asks for it first. Raises
    LeaseLost, TableContended or SwapRefused.
    """
    path = base.table.path
    try:
        base.table.at_newest(partial(_commit, paths, base, claim, write, held))
    except Overtaken as error:
        raise TableContended.swap_overtaken(path=path, error=_first(error)) from None
    except Unwritten as error:
        raise SwapRefused.rows_refused(
            path=path,
            repair=claim.repair_id,
            error=_first(error),
        ) from None
    made = history.repair_version(table_of(paths), claim.repair_id, base.version)
    assert made is not None  # the lease is held: nobody took it back
    return made


def _commit(
    paths: Paths, base: Base, claim: Claim, write: Write, held: Held, table: Opened
) -> None:
    held.confirm()  # behind the read: what a later holder commits refuses this one
    if base.touched():
        if history.repair_version(table_of(paths), claim.repair_id, base.version) is None:
            raise TableContended.swap_overtaken(
                path=base.table.path, error="rows of it were replaced."
            )
        return  # by this commit, whose answer was lost
    said = {history.REPAIR: claim.repair_id, history.PASSED: passed(paths, table.version)}
    write(table, Said(said, claim.transaction))


def refuse_features(table: Table, *, merged: bool = False) -> None:
    """Raise SwapRefused for a table with a feature with which a swap was not tried. `merged`: one
    by a merge, which reads files by itself.
    """
    if unknown := table.untried(merged=merged):
        raise SwapRefused.feature_unwritable(
            place=table.path,
            unknown=", ".join(unknown),
            sql=sql_table(table.path),
            first=unknown[0],
        )


def _first(error: Exception) -> str:
    return str(error).splitlines()[0][:300].rstrip(". ") + "."
