"""Upkeep: what a run does at its end, so that later runs find no more than they need.

It removes state that no batch needs. It takes the rejected records of superseded generations out of
the ops tables, once a batch of the present one has read the same offsets and judged them. Those
that Kafka has no longer stay where they are. And it has a step that follows a key forget deletes.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Final

from spark_jobs.checkpoint.identity import Superseded, read_superseded
from spark_jobs.checkpoint.purge import purge
from spark_jobs.errors import CheckpointBroken
from spark_jobs.launch.session import state_stores
from spark_jobs.ops import ops_tables
from spark_jobs.source.positions import Positions
from spark_jobs.source.sources import same_topics
from spark_jobs.storage.root.path_forms import spark_url

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spark_jobs.checkpoint.run import Run
    from spark_jobs.ops.schema import Row


LOG = logging.getLogger(__name__)


def purge_state(run: Run, query_run_id: str) -> None:
    """Remove the state that no batch needs any more. `query_run_id` as Query has it.

    A failure is logged: the run has ended well in all else, and the next one removes the same.
    """
    try:
        run.lease.confirm()  # without it, another run may write state now
        if query_run_id and run.spec.state.provider == "hdfs" and run.settings.local:
            _snapshot(run, query_run_id)
        if removed := purge(run.checkpoint, confirm=run.lease.confirm):
            LOG.info("%s: removed %d files of state that no batch needs", run.spec.name, removed)
    except Exception as error:  # noqa: BLE001 - whatever the file system or Spark says
        LOG.warning("%s: could not purge the state: %s", run.spec.name, error)


def forget_deletes(run: Run) -> None:
    """Of a table that follows a key and that `sluice maintain` cannot write."""
    if step := run.spec.keyed:
        resolve_name(step.forgets)(run, step)


def purge_after_failure(run: Run, error: Exception) -> None:
    """The same after a run that failed: one that commits and fails each time would keep all its
    state. Not beside a query that did not stop, and not where doctor may need what is there.
    """
    with suppress(Exception):  # what failed the run is told
        if not isinstance(error, CheckpointBroken) and not run.spark.streams.active:
            purge_state(run, "")


def _snapshot(run: Run, query_run_id: str) -> None:
    """Let each HDFS-backed store write a snapshot if it has more than some deltas since its last:
    every run replays them (spark.sql.streaming.stateStore.minDeltasForSnapshot, 10).

    Spark does so in its maintenance, which begins after 60 seconds, where the stores are: here, as
    long as Spark has no cluster (StateStore.doMaintenanceAndUnload).
    """
    jvm = run.spark.sparkContext._jvm  # noqa: SLF001 - PySpark has no public way to its JVM
    assert jvm is not None
    package = jvm.org.apache.spark.sql.execution.streaming.state
    state = run.checkpoint.folder / "state"
    path = jvm.org.apache.hadoop.fs.Path(spark_url(state))
    system = path.getFileSystem(run.spark.sparkContext._jsc.hadoopConfiguration())  # noqa: SLF001 - as above
    root = system.makeQualified(path).toString()  # the name by which Spark knows the store
    query = jvm.java.util.UUID.fromString(query_run_id)
    for store in state.glob("*/*"):
        if store.name.isdigit():
            operator, partition = int(store.parent.name), int(store.name)
            identifier = package.StateStoreId(root, operator, partition, "default")
            state_stores(run.spark).doMaintenanceAndUnload(
                package.StateStoreProviderId(identifier, query)
            )


KEPT: Final = ("quarantine", "late")
MOST_PLACES: Final = 1_000
"""Records in one condition."""


def take_out_read_again(run: Run) -> None:
    """Call it when all committed batches have their accounts. Once done, there is nothing to do."""
    note = read_superseded(run.paths)
    if note is None:
        return
    if same_topics(note.topic_id, run.identity.topic_id):
        now, before = (_rows(run, each) for each in (run.identity.generations, note.generations))
        first, end = _reach(now)
        if now:
            for table in KEPT:
                _take_out(run, table, note, _within(first, end), exact=_gaps(now))
        if not now or end.before(_reach(before)[1]):
            return  # a limit or a stop ended the run: the rest is read by the next
    note.model_copy(update={"generations": ()}).put(run.paths.superseded, run.lease)


def _rows(run: Run, generations: Iterable[str]) -> list[Row]:
    own = ops_tables.equals({"pipeline": run.spec.name})
    rows: list[Row] = ops_tables.query(
        run.paths.root,
        "batches",
        f"SELECT offsets_start, offsets_end, removed FROM batches WHERE {own} AND "
        f"{ops_tables.among('generation', generations)}",
    ).to_pylist()
    return rows


def _reach(rows: list[Row]) -> tuple[Positions, Positions]:
    """The first offset of each partition that a batch has, and the one after the last."""
    first, end = Positions(), Positions()
    for row in rows:
        first = first.minimum(Positions.of_json(row["offsets_start"]))
        end = end.maximum(Positions.of_json(row["offsets_end"]))
    return first, end


def _gaps(rows: list[Row]) -> bool:
    """Records are gone, by retention or compaction: ours may be the last copy."""
    return any(row["removed"] for row in rows)


def _within(first: Positions, end: Positions) -> str:
    each = (
        f'(partition = {p} AND "offset" >= {at} AND "offset" < {stop})'
        for p, [(at, stop)] in first.parts(end).items()
    )
    return f"({' OR '.join(each) or 'false'})"


def _take_out(run: Run, table: str, note: Superseded, within: str, *, exact: bool) -> None:
    """`exact`: only those that are kept again."""
    theirs = f"{ops_tables.among('generation', note.generations)} AND {within}"
    found = _places(run, table, theirs)
    if exact and found:
        ours = f"{ops_tables.among('generation', run.identity.generations)} AND {within}"
        found &= _places(run, table, ours)
        conditions = [f"{theirs} AND ({each})" for each in _at(found)]
    else:
        conditions = [theirs] if found else []
    own = ops_tables.equals({"pipeline": run.spec.name})
    for condition in conditions:
        ops_tables.remove(run.paths.root, table, f"{own} AND {condition}", run.lease)


def _places(run: Run, table: str, where: str) -> set[tuple[int, int]]:
    own = ops_tables.equals({"pipeline": run.spec.name})
    rows = ops_tables.query(
        run.paths.root, table, f'SELECT partition, "offset" FROM {table} WHERE {own} AND {where}'
    ).to_pylist()
    return {(row["partition"], row["offset"]) for row in rows}


def _at(places: set[tuple[int, int]]) -> Iterator[str]:
    """Each of as many places as delta-rs takes: at 6,000 its stack ends."""
    by_partition: dict[int, list[int]] = defaultdict(list)
    for partition, offset in sorted(places):
        by_partition[partition].append(offset)
    for partition, offsets in by_partition.items():
        for begin in range(0, len(offsets), MOST_PLACES):
            part = ", ".join(map(str, offsets[begin : begin + MOST_PLACES]))
            yield f'partition = {partition} AND "offset" IN ({part})'
