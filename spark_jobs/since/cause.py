"""Cause: what made a version of a table, told from its commit and the ops tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.ops import accounts, repairs
from spark_jobs.ops.terms import UNDO
from spark_jobs.table import history
from spark_jobs.table.tables import table_of
from spark_jobs.where.ask import MOST
from spark_jobs.where.kept import COLUMNS, Accounted

if TYPE_CHECKING:
    from spark_jobs.ops.schema import Row
    from spark_jobs.since.states import State
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.root.paths import Paths
    from spark_jobs.table.entry import Entry

Kind = Literal["batch", "repair", "undo", "rewind", "restore", "switch", "made", "other"]


class Cause(NamedTuple):
    """What one commit was."""

    kind: Kind
    said: str
    """In words, without the version."""
    run_id: str | None = None
    batch: int | None = None
    repair_id: str | None = None
    records: str | None = None
    """The batch's offsets, as `sluice where` takes them."""
    look: str | None = None
    """A command that tells more."""


class Causes:
    """Of one pipeline's live table."""

    def __init__(self, spec: Pipeline, paths: Paths) -> None:
        self._spec, self._pipeline, self._table = spec, paths.pipeline, table_of(paths)
        known = read_identity(paths)
        stored = accounts.stored(paths, known, COLUMNS) if known else ()
        self._accounts = {row["table_version"]: Accounted.of(row) for row in stored}
        self._repairs = {
            row["repair_id"]: row for row in repairs.stored(paths.root, paths.pipeline)
        }

    def of(self, state: State) -> Cause:
        """What made the rows of the state."""
        entry = state.entry
        if entry.does == "restore":
            return _restored(state)
        if history.SWITCH in entry.said:
            return Cause("switch", "an older Sluice's switch to a rebuild put all its rows there")
        if entry.note:
            return self._of_batch(entry)
        if isinstance(repair_id := entry.said.get(history.REPAIR), str):
            return self._of_repair(repair_id, self._repairs.get(repair_id))
        if entry.version == 0:
            return Cause("made", "the table was made")
        return Cause("other", "nothing of Sluice: DESCRIBE HISTORY of the table shows who wrote")

    def _of_batch(self, entry: Entry) -> Cause:
        number = entry.note["batch"]
        if (account := self._accounts.get(entry.version)) is None:
            kept = history.stands(self._table, entry.version)
            why = "whose account is not kept" if kept else "which a rewind has taken back since"
            return Cause("batch", f"batch {number}, {why}", batch=number)
        records = ",".join(
            f"{self._spec.inputs.shown(partition)}:{first}-{stop - 1}"
            for partition, ranges in account.start.parts(account.end).items()
            for first, stop in ranges
        )
        few = bool(records) and account.start.count(account.end) <= MOST
        read = f"with the records {records}" if records else "with no record: what was due"
        return Cause(
            "batch",
            f"batch {number} of run {account.run_id}, {read}",
            account.run_id,
            number,
            records=records or None,
            look=f"sluice where {self._pipeline} {records}" if few else None,
        )

    def _of_repair(self, repair_id: str, row: Row | None) -> Cause:
        name = self._pipeline
        look = f"sluice show repairs {name} --format json"
        if repair_id.endswith(UNDO):
            of = repair_id.removesuffix(UNDO)
            return Cause("undo", f"the undo of repair {of}", repair_id=of, look=look)
        stands = "" if row is None or row["state"] == "swapped" else f", {row['state']} since"
        kind = "repair" if row is None else row["kind"]
        who = f", approved by {row['approved_by']}" if row and row["approved_by"] else ""
        return Cause("repair", f"{kind} {repair_id}{who}{stands}", repair_id=repair_id, look=look)


def _restored(state: State) -> Cause:
    entry = state.entry
    to = "an earlier version" if entry.to is None else f"version {entry.to}"
    if history.is_foreign(entry, state.newer or entry):
        return Cause("restore", f"a person's RESTORE to {to}")
    return Cause("rewind", f"a rewind to {to}, or the doctor's, behind a person's RESTORE")
