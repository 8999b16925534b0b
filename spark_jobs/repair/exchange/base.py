"""Base: whether the table still has, within a repair's spans, the rows that the repair was compared
with.

Most of what happens meanwhile is a drain's append of later positions, or OPTIMIZE: the log tells
that they changed no such row. Only where it does not, the rows are read: the table's now, and the
rows from then. VACUUM may have removed their files, so an undo has them of its staging.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.errors import StagingStale
from spark_jobs.repair.exchange.staging import arrow_schema, same, within
from spark_jobs.table.delta.delta_log import Action, Log, only_rearranges
from spark_jobs.table.delta.door import open_table

if TYPE_CHECKING:
    import pyarrow as pa
    from upath import UPath

    from spark_jobs.values.spans.position import Position
    from spark_jobs.values.spans.span import Span

Rows = Callable[["pa.Schema"], "pa.Table"]
"""Gives rows of the table with these columns."""
TRUNCATED = timedelta(milliseconds=1)
"""Spark writes the largest time of a file without its microseconds."""


class Base(NamedTuple):
    """The rows of a table within some spans, at one version."""

    table: UPath
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
        log = Log.of(self.table)
        if not log.has(self.version, log.newest):
            return True
        return any(
            self._may_touch(log.commit(each)) for each in range(self.version + 1, log.newest + 1)
        )

    def compared(self) -> Base:
        """This, at the newest version. Raises StagingStale if the rows are others there."""
        newest = Log.of(self.table).newest
        if not self.touched():
            return self.at(newest)
        now = open_table(self.table)
        columns = arrow_schema(now)
        before = self.kept(columns) if self.kept else self._read(columns)
        if before is None or not same(before, within(now, self._condition, columns)):
            raise self._stale("are others now")
        return self.at(now.version())

    @property
    def _condition(self) -> str:
        return self.position.sql(self.spans)

    def _read(self, columns: pa.Schema) -> pa.Table | None:
        then = open_table(self.table)
        try:
            then.load_as_version(self.version)
            if not {*arrow_schema(then).names} <= {*columns.names}:
                return None
            return within(then, self._condition, columns)
        except Exception as error:  # noqa: BLE001 - delta-rs's queries raise nothing more exact
            told = f"VACUUM may have removed them: {str(error).splitlines()[0]}"
            raise self._stale(f"cannot be read any more ({told})") from None

    def _may_touch(self, actions: list[Action]) -> bool:
        if only_rearranges(actions):
            return False
        if any(kind in action for action in actions for kind in ("remove", "metaData")):
            return True  # which rows were in the file, the entry does not say
        return any(self._may_hold(action["add"]) for action in actions if "add" in action)

    def _may_hold(self, file: Action) -> bool:
        stats = json.loads(file.get("stats") or "{}")
        try:
            first, last = (
                datetime.fromisoformat(stats[of][self.position.column])
                for of in ("minValues", "maxValues")
            )
            return any(first <= span.end and last >= span.start - TRUNCATED for span in self.spans)
        except (KeyError, TypeError, ValueError):
            return bool(stats.get("numRecords") != 0)

    def _stale(self, how: str) -> StagingStale:
        return StagingStale.rows_changed(
            table=self.table,
            version=self.version,
            how=how,
        )
