"""Restored: a RESTORE of the table that a person made, and what it did to what Sluice has written.

Checkpoint, account, repairs and the records' fates go on saying what they said before it. So every
writer refuses the table until somebody takes the RESTORE back (admin/restoring.py) or
keeps it, by a rewind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.errors import TableReplaced
from spark_jobs.ops import ops_tables
from spark_jobs.ops.terms import UNDO
from spark_jobs.table import history
from spark_jobs.table.entry import Entry
from spark_jobs.table.tables import table_of

if TYPE_CHECKING:
    from spark_jobs.storage.root.paths import Paths
    from spark_jobs.table.port import Table

REWIND = ""
"""What a rewind has written: it has no id that a person knows."""


class Restored(NamedTuple):
    """The first RESTORE that is not mended, and what all of them have done."""

    version: int
    """It."""
    to: int | None
    """The version that it restored; None if nobody can tell."""
    batches: tuple[int, ...]
    """Batches whose rows are no longer in the table."""
    repairs: tuple[str, ...]
    """Likewise repairs and undos, by their ids in ops.repairs."""
    rewind: bool
    """Whether it has gone behind a rewind: what that had taken out is in the table again."""
    keeps: int
    """The batch up to which all batches are in the table; -1 without one."""
    written_behind: bool
    """Whether Sluice has written rows behind it: a run that was at work then."""

    @property
    def whole(self) -> int:
        """The newest version that has all that Sluice had written."""
        return self.version - 1


def restored(table: Table, since: int) -> Restored | None:
    """What RESTOREs after the version `since` have done; None if all that Sluice has written is
    there. Up to `since` the table is as it should be.
    """
    return _found(table, since) if history.restores_since(table, since) else None


def refusal(paths: Paths, since: int) -> TableReplaced | None:
    """See runs/preflight.py, refuse_restored."""
    found = restored(table_of(paths), since)
    if found is None:
        return None
    name = paths.pipeline
    to = "another version" if found.to is None else f"version {found.to}"
    keeping = (
        f"Or keep it, and let the next drain read from there: `sluice rewind {name} --to-batch "
        f"{found.keeps} --execute`."
        if found.keeps >= 0
        else f"Or start again from Kafka: `sluice reset {name}`."
    )
    return TableReplaced.restored(
        version=found.version,
        table=paths.table,
        to=to,
        did=did(paths, found),
        pipeline=name,
        keeping=keeping,
    )


def did(paths: Paths, found: Restored) -> str:
    """What it has done, in words."""
    lost = [*([_batches(found.batches)] if found.batches else ())]
    lost += [_repair(paths, each) for each in found.repairs]
    said = [f"It took out {', '.join(lost)}."] if lost else []
    said += ["It took back a rewind."] if found.rewind else []
    return " ".join(said)


def _batches(numbers: tuple[int, ...]) -> str:
    first, last = min(numbers), max(numbers)
    if first == last:
        return f"batch {first}"
    return f"{len(numbers)} batches from {first} to {last}"


def _repair(paths: Paths, repair_id: str) -> str:
    if repair_id.endswith(UNDO):
        return f"the undo of repair {repair_id.removesuffix(UNDO)}"
    ours = ops_tables.equals({"pipeline": paths.pipeline, "repair_id": repair_id})
    sql = f"SELECT count(*) AS n FROM merged WHERE {ours} AND fate = 'merged'"
    [row] = ops_tables.query(paths.root, "merged", sql).to_pylist()
    return f"repair {repair_id} with its {row['n']:,} records"


def _found(table: Table, since: int) -> Restored | None:
    log = {entry.version: entry for entry in table.history()}
    foreign = history.foreign(log.values(), since)
    to = {version: entry.to for version, entry in log.items() if entry.does == "restore"}
    persons = history.foreign(log.values(), -1)
    written = {
        version: work
        for version, entry in log.items()
        if version not in persons and (work := _work(entry)) is not None
    }

    def there(newest: int, passed_over: Iterable[int] = ()) -> set[int]:
        return {*_standing(log, to, newest, {*passed_over})} & written.keys()

    ours, now = there(max(log), foreign), there(max(log))
    if ours == now:
        return None
    # An earlier one may have been mended since, by a person.
    first = next(
        (each for each in foreign if there(each - 1, foreign) == there(each - 1)), min(foreign)
    )
    lost = [written[version] for version in sorted(ours - now)]
    batches = tuple(work for work in lost if isinstance(work, int))
    kept = (work for each in ours & now if isinstance(work := written[each], int))
    return Restored(
        version=first,
        to=to[first],
        batches=batches,
        repairs=tuple(work for work in lost if isinstance(work, str) and work != REWIND),
        rewind=REWIND in lost,
        keeps=min(batches) - 1 if batches else max(kept, default=-1),
        written_behind=any(version > first for version in ours),
    )


def _standing(
    log: Mapping[int, Entry], to: Mapping[int, int | None], newest: int, passed_over: set[int]
) -> Iterator[int]:
    """The versions whose rows are in `newest`, if these RESTOREs had done nothing."""
    version = newest
    while version in log:
        yield version
        restores = version in to and version not in passed_over
        back_to = to[version] if restores else version - 1
        version = -1 if back_to is None else back_to


def _work(entry: Entry) -> int | str | None:
    """What Sluice has written by this commit: a batch's number, a repair's id, REWIND; None if
    nothing.
    """
    if entry.does == "restore" or entry.marks:
        return REWIND
    if entry.does == "nothing":
        return None
    if note := entry.note:
        return note["batch"]
    return entry.said.get(history.REPAIR)
