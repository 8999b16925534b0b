"""Exchange: rows of the table replaced by others, and the record of it.

A swap and an undo are both one. All that takes long happens before the pipeline's lease is taken:
the rows are read, and the table's are compared with those that they were computed for. Under the
lease the log tells whether they moved since; if they did, the lease is given back and they are
compared again. Then it is a change (journal/): the commit, its record in the ops tables, and the
cursor last, since what it publishes is recorded.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.notes.begun import under_way
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.errors import LeaseHeld, StagingStale
from spark_jobs.journal.change import Change, Facts, Scene
from spark_jobs.journal.runner import carry_out, leased, settle
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.ops.schema import RAW, SCHEMAS
from spark_jobs.ops.taken_out import take_out
from spark_jobs.repair.exchange.commit import Prepared, passed, replace
from spark_jobs.repair.exchange.preconditions import Claim, refuse_moved_on, refuse_withdrawn
from spark_jobs.repair.manifest import Manifest, read_manifest
from spark_jobs.runs.preflight import refuse_restored
from spark_jobs.source.place import PLACE, WHOLE, selected_sql
from spark_jobs.storage import failpoint
from spark_jobs.table import history
from spark_jobs.table.tables import own_table, table_of
from spark_jobs.values.spans import EVER, Span

if TYPE_CHECKING:
    from spark_jobs.storage.lease_view import Held
    from spark_jobs.storage.root.paths import Paths

LOOKS = 3
"""How often the rows are compared, if they move between the comparison and the lease."""


class Exchange(Facts):
    """What a swap or an undo needs."""

    manifest: Manifest
    """Of the repair that was staged: its folder may be gone before the change is completed."""
    commit_id: str
    """The repair's, or its undo's: the commit says it."""
    compared_at: int
    """The version in which the table has the rows that are to go."""
    copies: tuple[Span, ...] = EVER
    """Of an undo: the event times of the copies that wait again too; all, if nobody said which."""

    @property
    def claim(self) -> Claim:
        """What was computed, and for which version."""
        return Claim(self.commit_id, self.manifest, self.compared_at)

    def version(self, paths: Paths) -> int | None:
        """The version that it has committed; None without one, or if a rewind took it back."""
        return history.repair_version(table_of(paths), self.commit_id, self.compared_at)


Prepare = Callable[["Paths", Claim], Prepared]
"""Makes the commit ready: of a unit, `put_in` or `take_out`."""


class Exchanged(NamedTuple):
    """What an exchange did."""

    version: int | None
    """The table's version that has the rows; None where there was nothing to replace."""
    passed: bool
    """Whether the next publish shows it: all before it had passed the checks."""
    leased_seconds: float


def exchange(
    paths: Paths, change: Change[Exchange], facts: Exchange, prepare: Prepare, run_id: str
) -> Exchanged:
    """Replace the rows.

    Raises StagingStale, RepairOverlapped, SwapRefused, LeaseHeld, LeaseLost or TableContended; then
    nothing was written.
    """
    claim = facts.claim
    for _ in range(LOOKS):
        settle(paths, run_id)
        refuse_moved_on(paths, claim)
        made = prepare(paths, claim)
        with leased(paths, run_id) as held:
            began = time.monotonic()
            failpoint.at("swap.leased")
            refuse_moved_on(paths, claim)
            if made.base.touched():
                continue
            carry_out(change, facts, paths, held, run_id, made)
            version = facts.version(paths) if claim.manifest.differing else None
            return Exchanged(version, _shown_next(paths, version), time.monotonic() - began)
    raise LeaseHeld.writers_busy(table=paths.table, repair=claim.repair_id)


def is_going_in(paths: Paths, repair_id: str) -> bool:
    """Whether a swap of this repair has begun and not ended."""
    note = under_way(paths)
    return note is not None and note.facts.get("commit_id") == repair_id


class Once(NamedTuple):
    """What is done to a repair, and by what one knows that it has been done."""

    suffix: str
    """Behind the repair's id, the id of its row in ops.repairs."""
    states: frozenset[str]
    """Of that row, once it has been done."""
    do: Callable[[Paths, Manifest, str], Exchanged]


def once(paths: Paths, repair_id: str, run_id: str, wanted: Once) -> tuple[Manifest, Exchanged]:
    """The repair, and what was done to it: by an earlier try, or by this one."""
    settle(paths, run_id)
    manifest = read_manifest(paths, repair_id)
    done = _made_before(paths, manifest, wanted)
    if done is None:
        try:
            done = wanted.do(paths, manifest, run_id)
        except StagingStale:  # another try may have done it meanwhile
            if (done := _made_before(paths, manifest, wanted)) is None:
                raise
    return manifest, done


def _made_before(paths: Paths, manifest: Manifest, wanted: Once) -> Exchanged | None:
    """Raises TableReplaced if a RESTORE took it out since."""
    row = repairs.one(paths.root, manifest.pipeline, f"{manifest.repair_id}{wanted.suffix}")
    if row is None or row["state"] not in wanted.states:
        return None
    refuse_restored(paths, read_cursor(paths.cursor).judged_table_version)
    version = row["table_version"]
    return Exchanged(version, _shown_next(paths, version), leased_seconds=0.0)


def _shown_next(paths: Paths, version: int | None) -> bool:
    judged = read_cursor(paths.cursor).judged_table_version
    return version is not None and judged is not None and judged >= version


def commit(facts: Exchange, scene: Scene) -> None:
    """Replace the rows in one commit, with a transaction id. Only the first try does: one that was
    killed before it is dropped (`stands`), since the rows may move meanwhile.
    """
    made = scene.prepared
    if made is not None:  # behind the note, which who declines it looks for once the No is written
        refuse_withdrawn(scene.paths, facts.claim)
    if made is not None and made.write is not None:
        replace(scene.paths, made.base, facts.claim, made.write, scene.held)
    failpoint.at("swap.committed")


def stands(facts: Exchange, scene: Scene) -> bool:
    """Whether the commit is in the table."""
    return facts.version(scene.paths) is not None


def move_cursor(facts: Exchange, scene: Scene) -> None:
    """Let the commit count as passed, if all before it had: the same checks have judged its rows.

    Otherwise the next drain judges them, with what waits for it.
    """
    failpoint.at("swap.recorded")
    paths, version = scene.paths, facts.version(scene.paths)
    cursor = read_cursor(paths.cursor)
    judged = cursor.judged_table_version
    if version is None or judged is None or judged >= version:
        return
    if passed(paths, version - 1) < version - 1:
        return
    moved = cursor.model_copy(update={"judged_table_version": version})
    moved.put(paths.cursor, scene.held)


BAD = "bad"
"""The folder of a staging that has them, as rows of ops.quarantine."""
PLACES = pa.schema([SCHEMAS["quarantine"].field(name) for name in PLACE])
AT: Final = [*PLACE]
"""As Arrow takes names."""


def put_bad(paths: Paths, manifest: Manifest, held: Held) -> None:
    """Put them there, in place of what an earlier try put. Nothing is done twice."""
    known = read_identity(paths)
    generations = known.generations if known else (manifest.generation,)
    staged = _Staged(paths, manifest)
    there, ours = staged.there(generations), staged.by_its_run
    if there.num_rows < staged.count:
        ops_tables.replace_parts(paths.root, "quarantine", lambda: staged.parts(there), ours, held)
    _take_out(paths, manifest, there, generations, held)


def take_out_bad(paths: Paths, manifest: Manifest, generations: Sequence[str], held: Held) -> None:
    """Take the fates of replayed records among them once more: the repair is in the table again."""
    _take_out(paths, manifest, _Staged(paths, manifest).there(generations), generations, held)


def _take_out(
    paths: Paths, manifest: Manifest, there: pa.Table, generations: Sequence[str], held: Held
) -> None:
    if there.num_rows:
        of_these = ops_tables.of_checkpoint(manifest.pipeline, generations)
        take_out(paths.root, manifest.repair_id, there, of_these, held)


class _Staged:
    """The folder bad/ of a repair."""

    def __init__(self, paths: Paths, manifest: Manifest) -> None:
        self._root, self._pipeline = paths.root, manifest.pipeline
        self._ask = own_table(paths.staging(manifest.repair_id) / BAD).open().ask
        ran = self._ask("SELECT min(run_id) AS run_id, count(*) AS n FROM t")
        [row] = ran.read_all().to_pylist()
        self.count: int = row["n"]
        self.by_its_run = ops_tables.equals({"pipeline": self._pipeline, "run_id": row["run_id"]})
        """The SQL condition for its rows in ops.quarantine."""

    def there(self, generations: Sequence[str]) -> pa.Table:
        """PLACE of its records that ops.quarantine has from somebody else, by selected_sql."""
        kept = (
            f"{ops_tables.of_checkpoint(self._pipeline, generations)} AND NOT ({self.by_its_run})"
        )
        sql = f"SELECT {selected_sql()} FROM quarantine WHERE {kept}"
        others = ops_tables.query(self._root, "quarantine", sql).cast(PLACES)
        older = PLACE[-1] not in self._ask("SELECT * FROM t LIMIT 0").schema.names
        bad = "(SELECT *, NULL AS element FROM t)" if older else "t"
        places = self._ask(f"SELECT {selected_sql()} FROM {bad}").read_all().cast(PLACES)
        return places.join(others, AT, join_type="left semi").select(AT)

    def parts(self, there: pa.Table) -> Iterator[pa.RecordBatch]:
        """The rows of the others."""
        schema, carried = SCHEMAS["quarantine"], self._carried(there)
        for part in self._ask("SELECT * FROM t"):
            rows = _whole(pa.Table.from_batches([part]), schema)
            if there.num_rows:
                # By their numbers: Arrow joins no lists, as headers are.
                numbers = pa.array(range(rows.num_rows))
                *at, element = (rows.column(name) for name in PLACE)
                places = pa.table([*at, pc.fill_null(element, WHOLE), numbers], [*PLACE, "number"])
                others = places.join(there, AT, join_type="left anti")
                rows = rows.take(others.column("number"))
            if carried:
                rows = pa.Table.from_pylist(
                    [_with(carried, row) for row in rows.to_pylist()], schema
                )
            yield from rows.to_batches()

    def _carried(self, there: pa.Table) -> dict[tuple[int, int], dict[str, Any]]:
        """Value -> RAW, where the staged row that has a value's bytes is one of `there`: another
        element's row is to have them. The row that is there already may expire before.
        """
        elements = there.filter(pc.not_equal(there.column(PLACE[-1]), WHOLE))
        if not elements.num_rows:
            return {}
        known = {tuple(row[name] for name in PLACE) for row in elements.to_pylist()}
        sql = "SELECT * FROM t WHERE element IS NOT NULL AND value IS NOT NULL"
        rows = (row for part in self._ask(sql) for row in pa.Table.from_batches([part]).to_pylist())
        return {
            (row["partition"], row["offset"]): {name: row[name] for name in RAW}
            for row in rows
            if tuple(row[name] for name in PLACE) in known
        }


def _with(carried: dict[tuple[int, int], dict[str, Any]], row: dict[str, Any]) -> dict[str, Any]:
    if row["element"] is None or row["value"] is not None:
        return row
    return row | carried.pop((row["partition"], row["offset"]), {})


def _whole(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """An older Sluice may have staged them without the newest columns."""
    for field in schema:
        if field.name not in rows.column_names:
            rows = rows.append_column(field, pa.nulls(rows.num_rows, field.type))
    return rows.select(schema.names).cast(schema)
