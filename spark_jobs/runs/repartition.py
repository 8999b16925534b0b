"""Repartition: moves the state to another number of stores, as a batch that reads no record.

Spark writes that batch (StreamingCheckpointManager.repartition, new in 4.2). A note names it before
(checkpoint/repartitioning.py). Sluice reads the state before and after, and lets the batch count
only if both are the same: by one write, that of the number in identity.json. A repartition that is
cut off before has changed nothing: the next drain, or the same command, takes back what is there of
it (checkpoint/repartitioned.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from spark_jobs import failpoint
from spark_jobs.checkpoint.integrity import remove_orphan_checksums
from spark_jobs.checkpoint.lease import HeldLease
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.repartitioning import Repartitioning
from spark_jobs.contract.errors import RepartitionRefused
from spark_jobs.contract.path_forms import state_url
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.settings import Settings
from spark_jobs.contract.spec import Pipeline
from spark_jobs.journal.runner import leased
from spark_jobs.launch.cluster import Cluster
from spark_jobs.runs.settling import settle
from spark_jobs.runs.to_move import ToMove, look
from spark_jobs.storage.object_store import require_writable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def repartition(spec: Pipeline, settings: Settings, wanted: int) -> Iterator[str]:
    """Move the state to `wanted` stores for each stateful step; lines of what was done.

    Raises what `look` does, LeaseHeld, LeaseLost, and RepartitionRefused if the moved state is not
    the same.
    """
    paths = Paths(settings.root, spec)
    require_writable(paths)
    with (
        leased(spec, paths, "sluice repartition") as held,
        Cluster(spec.name, settings) as cluster,
    ):
        failpoint.at("repartition.leased")
        look(spec, paths, wanted)  # it refuses before anything is changed
        yield from settle(spec, paths, held)
        found = look(spec, paths, wanted)
        if found.number == wanted:
            yield f"{spec.name}: the state is in {wanted} stores for each step: nothing to move"
            return
        remove_orphan_checksums(Checkpoint(paths.checkpoint))
        spark = cluster.session(found.spec.state)
        try:
            yield from _move(spark, paths, found, wanted, held)
        except Exception:
            with suppress(Exception):  # why it failed is told; else the next run takes it back
                settle(spec, paths, held)
            raise


def _move(
    spark: SparkSession, paths: Paths, found: ToMove, wanted: int, held: HeldLease
) -> Iterator[str]:
    from spark_jobs.state.contents import contents  # noqa: PLC0415 - a drain needs only what is below

    name = found.spec.name
    folder = state_url(paths.checkpoint)
    moved = found.identity.of_repartition(wanted, paths)  # while its batch is not there
    with _each_shuffle_as_planned(spark):
        before = contents(spark, folder, found.batch, found.number)
        held.confirm()
        note = Repartitioning(batch=found.batch + 1, number=found.number, wanted=wanted)
        note.write(paths.repartitioning)
        failpoint.at("repartition.noted")
        spark._streamingCheckpointManager.repartition(folder, wanted)  # noqa: SLF001 - its only name
        failpoint.at("repartition.written")
        after = contents(spark, folder, found.batch + 1, wanted)
    differing = [number for number, each in before.items() if after.get(number) != each]
    if differing or any(each.misplaced for each in before.values()):
        raise RepartitionRefused(
            f"the state of {name} in {wanted} stores is not what it is in {found.number}: operator "
            f"{differing or [*before]} has {after} and had {before}.",
            "Nothing is changed. This is a defect of Spark or of Sluice: please report it.",
        )
    held.confirm()
    moved.write(paths.identity)
    failpoint.at("repartition.counts")
    paths.repartitioning.unlink()
    rows = sum(each.rows for each in after.values())
    yield (
        f"{name}: batch {found.batch + 1} has the state of batch {found.batch}, {rows:,} entries, "
        f"in {wanted} stores for each step; there were {found.number}"
    )


@contextmanager
def _each_shuffle_as_planned(spark: SparkSession) -> Iterator[None]:
    """Let no shuffle be changed while it runs: each of its partitions becomes a state store, also
    one without rows.
    """
    option = "spark.sql.adaptive.enabled"
    was = str(spark.conf.get(option))
    spark.conf.set(option, "false")
    try:
        yield
    finally:
        spark.conf.set(option, was)
