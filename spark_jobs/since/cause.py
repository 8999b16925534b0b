"""Cause: what made a version of a table, told from its commit and the ops tables; and how `sluice
where` is asked for the records that are in a row.

For all of them, and none is looked for by halves: a group's measure is made by each, and halves
would only name whichever came last. A window's row comes with a batch that has read none.
"""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Any

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.ops import accounts, repairs
from spark_jobs.ops.terms import UNDO
from spark_jobs.source.place import Place
from spark_jobs.spec.analysis.columns import origins_of
from spark_jobs.spec.analysis.lateness import keeps_time
from spark_jobs.spec.columns import Origin
from spark_jobs.table import history
from spark_jobs.table.tables import table_of
from spark_jobs.values.own_columns import AT_ELEMENT, OFFSET, PARTITION
from spark_jobs.values.spans import Position, Span
from spark_jobs.where.ask import MOST
from spark_jobs.where.in_table import equals
from spark_jobs.where.kept import COLUMNS, Accounted

if TYPE_CHECKING:
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.root.paths import Paths
    from spark_jobs.table.entry import Entry

START, END = "window_start", "window_end"


class Causes:
    """Of one pipeline's live table."""

    def __init__(self, spec: Pipeline, paths: Paths) -> None:
        self._spec, known, table = spec, read_identity(paths), table_of(paths)
        stored = accounts.stored(paths, known, COLUMNS) if known else ()
        self._accounts = {row["table_version"]: Accounted.of(row) for row in stored}
        self._repairs = {row["repair_id"]: row for row in repairs.stored(paths.root, spec.name)}
        self._restores = {*history.foreign(table.history(), -1)}
        """The versions that persons' RESTOREs made."""
        self._standing = {entry.version for entry in history.ours(table)}

    def of(self, entry: Entry) -> tuple[str, str]:
        """What the commit was, and a command that tells more; empty without one."""
        if entry.does == "restore":
            to = "an earlier version" if entry.to is None else f"version {entry.to}"
            of_ours = f"a rewind to {to}, or the doctor's, behind a person's RESTORE"
            foreign = entry.version in self._restores
            return f"a person's RESTORE to {to}" if foreign else of_ours, ""
        if history.is_switch(entry):
            return "an older Sluice's switch to a rebuild put all its rows there", ""
        if entry.note:
            return self._of_batch(entry)
        if isinstance(repair_id := entry.said.get(history.REPAIR), str):
            look = f"sluice show repairs {self._spec.name} --format json"
            return self._of_repair(repair_id), look
        other = "nothing of Sluice: DESCRIBE HISTORY of the table shows who wrote"
        return other if entry.version else "the table was made", ""

    def _of_batch(self, entry: Entry) -> tuple[str, str]:
        batch = f"batch {entry.note['batch']}"
        if (account := self._accounts.get(entry.version)) is None:
            kept = entry.version in self._standing
            why = "whose account is not kept" if kept else "which a rewind has taken back since"
            return f"{batch}, {why}", ""
        records = ",".join(
            f"{self._spec.inputs.shown(partition)}:{first}-{stop - 1}"
            for partition, ranges in account.start.parts(account.end).items()
            for first, stop in ranges
        )
        few = records and account.start.count(account.end) <= MOST
        read = f"with the records {records}" if records else "with no record: what was due"
        look = f"sluice where {self._spec.name} {records}" if few else ""
        return f"{batch} of run {account.run_id}, {read}", look

    def _of_repair(self, repair_id: str) -> str:
        if repair_id.endswith(UNDO):
            return f"the undo of repair {repair_id.removesuffix(UNDO)}"
        if (row := self._repairs.get(repair_id)) is None:
            return f"repair {repair_id}"
        who = f", approved by {row['approved_by']}" if row["approved_by"] else ""
        stands = "" if row["state"] == "swapped" else f", {row['state']} since"
        return f"{row['kind']} {repair_id}{who}{stands}"


def asked_by(spec: Pipeline, row: dict[str, Any]) -> str:
    """The command, of a row with all columns of the table; empty where these do not tell which
    records it has. Of copies it finds each.
    """
    if spec.keyed:  # the row says which record it is; a person's says nothing
        if row[PARTITION] is None:
            return ""
        place = Place.at(row[PARTITION], row[OFFSET], row.get(AT_ELEMENT))
        return f"sluice where {spec.name} {place.text(spec.inputs.shown)}"
    key = condition(spec, row)
    return key and f"sluice where {spec.name} --key {quote(key)}"


def condition(spec: Pipeline, row: dict[str, Any]) -> str:
    """SQL over the topic's fields for the records that are in the row; empty if there is none."""
    *before, last = spec.steps
    names, origins = last.grouping_keys, origins_of(spec)
    if names is None:
        kept = all(step.keeps_rows for step in spec.steps[spec.first_stateful :])
        names = spec.inputs.columns if kept else ()
    if (
        last.by_code
        or any(step.by_code or step.grouping_keys is not None for step in before)
        or any(origins.get(name) != (Origin(name, "identity"),) for name in names)
    ):
        return ""
    types = spec.inputs.types
    told = [equals(name, row[name], types[name]) for name in names if name in row]
    told = ["" if "\\" in each else each for each in told]  # Spark reads on behind a backslash
    if last.grouping_keys is None:  # what has no comparison is left out: more records are found
        return " AND ".join(filter(None, told))
    if last.grouping_window is not None:
        if not (keeps_time(spec) and {START, END} <= row.keys()):
            return ""
        told.append(Position(spec.inputs.event_time).sql([Span(row[START], row[END])]))
    return "" if "" in told else " AND ".join(told)
