"""Expired: the rows of the ops tables that `sluice maintain` removes, as one SQL condition a table.

A row stays, however old, if somebody may need it: batches that have not passed the checks or are
not published, those from which `sluice doctor` makes a new cursor, the last run and its checks, and
the decisions of persons. The slices of the checkpoint's batches stay for ever: Kafka or an archive
may have their records for longer than any setting of Sluice says, and without its slice each offset
is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from spark_jobs.checkpoint.identity import Identity, read_identity
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.checkpoint.notes.published import read_published
from spark_jobs.ops import ops_tables
from spark_jobs.settings.checked import FOREVER
from spark_jobs.storage.root.live_place import FOLDER

if TYPE_CHECKING:
    from spark_jobs.ops.schema import Row
    from spark_jobs.settings.installation import Settings
    from spark_jobs.storage.root.paths import Paths

Conditions = dict[str, str]
"""Ops table -> the SQL condition of its rows to remove, in the order in which to remove them."""


def cutoff(days: str, now: datetime) -> datetime | None:
    """The time before which something that is kept for so many days has expired; None for never."""
    return None if days == FOREVER else now - timedelta(days=int(days))


def expired(paths: Paths, pipeline: str, settings: Settings, now: datetime) -> Conditions:
    """The conditions for one pipeline; a table whose rows are all kept is not among them.

    Rejected records and slices come first: ops.batches says when they were stored.
    """
    history = cutoff(settings.history_days, now)
    rejected = cutoff(settings.rejected_days, now)
    stored = _Stored(paths, pipeline)
    found: Conditions = {}
    if rejected and (where := stored.rejected_before(rejected)):
        # A repair puts records there that it found bad, of batches that are older.
        since = f"(planned_at IS NULL OR planned_at < '{rejected.isoformat()}')"
        found |= {"quarantine": f"{where} AND {since}", "late": where}
    if history:
        if where := stored.slices_before(history):
            found["slices"] = where
        found |= {
            "batches": stored.batches_before(history),
            "checks": stored.checks_before(history),
            "runs": stored.runs_before(history),
        }
    return found


def _of_places(paths: Paths) -> Iterator[str]:
    for folder in paths.above.iterdir() if paths.above.exists() else ():
        with suppress(OSError, ValueError):
            if FOLDER.fullmatch(folder.name):
                yield from Identity.read(folder / paths.identity.name).generations


class _Stored:
    """What the ops tables and the checkpoint have of one pipeline."""

    def __init__(self, paths: Paths, pipeline: str) -> None:
        self._root = paths.root
        self._own = ops_tables.equals({"pipeline": pipeline})
        known = read_identity(paths)
        self._current = known.generations if known else ()
        self._kept = {*self._current, *_of_places(paths)}
        self._needed_from = min(
            read_cursor(paths.cursor).judged, read_published(paths).before_batch
        )
        """The first batch of the checkpoint that a verdict or an event may still be about."""

    def rejected_before(self, time: datetime) -> str:
        """Of batches that were accounted for before `time`; empty if there are none."""
        return self._up_to(
            {
                generation: min(last, self._needed_from - 1)
                if generation in self._current
                else last
                for generation, last in self._newest_before(time).items()
            }
        )

    def slices_before(self, time: datetime) -> str:
        """Of batches that were accounted for before `time` and are of no place that is there; empty
        if there are none.
        """
        newest = self._newest_before(time).items()
        return self._up_to({each: last for each, last in newest if each not in self._kept})

    def batches_before(self, time: datetime) -> str:
        """Batches that were accounted for before `time`, and are of no other place that is there:
        of its batches a verdict may be missing.
        """
        where = f"{self._own} AND audited_at < '{time.isoformat()}'"
        if others := self._kept.difference(self._current):
            where += f" AND NOT ({ops_tables.among('generation', sorted(others))})"
        if not self._current:
            return where
        of_each = (ops_tables.equals({"generation": each}) for each in self._current)
        ours = f"({' OR '.join(of_each)})"
        kept = [f"batch_id >= {self._needed_from}"]
        for newest in ("table_version", "last_event_time"):  # doctor makes the cursor from them
            kept += [
                f"batch_id = {row['batch_id']}"
                for row in self._rows(
                    "batches",
                    f"SELECT batch_id FROM batches WHERE {self._own} AND {ours} "
                    f"AND {newest} IS NOT NULL ORDER BY {newest} DESC LIMIT 1",
                )
            ]
        return f"{where} AND NOT ({ours} AND ({' OR '.join(kept)}))"

    def runs_before(self, time: datetime) -> str:
        """Runs that ended before `time`: not the last that wrote, nor any after the last that
        passed.
        """
        where = f"{self._own} AND ended_at < '{time.isoformat()}'"
        for needed in ("status = 'succeeded' AND batches > 0", "table_version IS NOT NULL"):
            [row] = self._rows(
                "runs", f"SELECT max(ended_at) AS newest FROM runs WHERE {self._own} AND {needed}"
            )
            if row["newest"] is not None:
                where += f" AND ended_at < '{row['newest'].isoformat()}'"
        return where

    def checks_before(self, time: datetime) -> str:
        """Results from before `time`, without decisions and without the last run's."""
        where = f"{self._own} AND checked_at < '{time.isoformat()}' AND outcome <> 'accepted'"
        [row] = self._rows(
            "checks", f"SELECT max(checked_at) AS newest FROM checks WHERE {self._own}"
        )
        return (
            where
            if row["newest"] is None
            else f"{where} AND checked_at < '{row['newest'].isoformat()}'"
        )

    def _newest_before(self, time: datetime) -> dict[str, int]:
        rows = self._rows(
            "batches",
            f"SELECT generation, max(batch_id) AS batch FROM batches WHERE {self._own} "
            f"AND audited_at < '{time.isoformat()}' GROUP BY generation",
        )
        return {row["generation"]: row["batch"] for row in rows}

    def _up_to(self, last: dict[str, int]) -> str:
        parts = [
            f"({ops_tables.equals({'generation': generation})} AND batch_id <= {batch})"
            for generation, batch in last.items()
        ]
        return f"{self._own} AND ({' OR '.join(parts)})" if parts else ""

    def _rows(self, table: str, sql: str) -> list[Row]:
        rows: list[Row] = ops_tables.query(self._root, table, sql).to_pylist()
        return rows
