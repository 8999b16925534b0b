"""Repartition: moves the state to another number of stores, as a batch that reads no record.

Spark writes that batch (StreamingCheckpointManager.repartition, new in 4.2), in a folder of its own
(checkpoint/branch.py). Sluice reads the state before and after, and lets the folder count only if
both are the same: by one write, identity.json's. One that ends before is taken back, since the next
holder of the lease has no Spark.

Two batches' stores are compared by sums over the bytes of keys and values, of every column family:
variables, timers and their indexes. Spark yields each value of a ListState as a row of its own
(iteratorWithMultiValues), so the order of a list's values is not in the sums. Its repartition keeps
it: one task reads a key's values in their order, and one writes them.
tests/spark/test_repartition.py compares the lists.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from pyspark.sql import SparkSession, functions as F

from spark_jobs.checkpoint.branch import branch, name_one
from spark_jobs.checkpoint.identity import Identity
from spark_jobs.errors import RepartitionRefused
from spark_jobs.journal.change import Change, Facts, Scene
from spark_jobs.journal.runner import carry_out, leased
from spark_jobs.launch import processes
from spark_jobs.launch.session import sessions_of
from spark_jobs.messages import job as jobs
from spark_jobs.runs.resume.moved_root import name_own
from spark_jobs.runs.to_move import look
from spark_jobs.runs.watchdog import Watchdog
from spark_jobs.settings.installation import Settings
from spark_jobs.spec import Pipeline
from spark_jobs.state.reader import operators
from spark_jobs.state.table import Stores
from spark_jobs.storage import failpoint
from spark_jobs.storage.folders import remove_folder
from spark_jobs.storage.object_store import require_writable
from spark_jobs.storage.root.path_forms import SparkPath, state_url
from spark_jobs.storage.root.paths import Paths

WHO = "sluice repartition"


class Repartition(Facts):
    """What a repartition needs."""

    batch: int
    """The batch that Spark writes: one more than the newest."""
    number: int
    """Of the stores that each stateful step has."""
    wanted: int
    """Of those that it is to have; another number."""
    left: str
    """The name of the folder with Spark's checkpoint from before."""
    spark: str
    """Of that with a copy and the batch, which is live then."""
    identity: Identity
    """With that number."""


class Mover(NamedTuple):
    """What the first try alone has."""

    spark: SparkSession
    entries: list[int]
    """How many entries the state has, once they are compared."""


def repartitioned(job: jobs.Repartition, spec: Pipeline, settings: Settings) -> Iterator[str]:
    """Watched as a run is. It leaves no report and no row."""
    processes.watch()
    with Watchdog("drain", spec.name, f"repartition-{uuid.uuid4().hex[:8]}", None) as watchdog:
        watchdog.watch(spec.stall_timeout, settings)
        yield from repartition(spec, settings, job.partitions)


def repartition(spec: Pipeline, settings: Settings, wanted: int) -> Iterator[str]:
    """Move the state to `wanted` stores for each stateful step; lines of what was done.

    Raises what `look` does, LeaseHeld, LeaseLost, and RepartitionRefused if the moved state is not
    the same.
    """
    paths = Paths(settings.root, spec)
    require_writable(paths)
    with leased(paths, WHO) as held, sessions_of(spec.name, settings) as cluster:
        failpoint.at("repartition.leased")
        look(spec, paths, wanted)  # it refuses before anything is changed
        yield from name_own(paths, held)
        found = look(spec, paths, wanted)
        if found.number == wanted:
            yield f"{spec.name}: the state is in {wanted} stores for each step: nothing to move"
            return
        mover = Mover(cluster.session(found.spec.state), [])
        facts = Repartition(
            batch=found.batch + 1,
            number=found.number,
            wanted=wanted,
            left=found.identity.spark,
            spark=name_one(),
            identity=found.identity.of_repartition(wanted, paths),  # while its batch is not there
        )
        carry_out(REPARTITION, facts, paths, held, WHO, mover)
        yield (
            f"{spec.name}: batch {found.batch + 1} has the state of batch {found.batch}, "
            f"{sum(mover.entries):,} entries, in {wanted} stores for each step; there were "
            f"{found.number}"
        )


def move_state(facts: Repartition, scene: Scene) -> None:
    """Let Spark write the batch into its folder, and hold its state against the state of the batch
    before.
    """

    mover: Mover = scene.prepared
    old, new = (scene.paths.version / name for name in (facts.left, facts.spark))
    failpoint.at("repartition.noted")
    branch(old, new, facts.batch - 1, scene.held.confirm)
    folder = state_url(new)
    with _each_shuffle_as_planned(mover.spark):
        before = contents(mover.spark, state_url(old), facts.batch - 1, facts.number)
        manager = mover.spark._streamingCheckpointManager  # noqa: SLF001 - its only name
        manager.repartition(folder, facts.wanted)
        failpoint.at("repartition.written")
        after = contents(mover.spark, folder, facts.batch, facts.wanted)
    differing = [number for number, each in before.items() if after.get(number) != each]
    if differing or any(each.misplaced for each in before.values()):
        raise RepartitionRefused.state_differs(
            pipeline=scene.paths.pipeline,
            wanted=facts.wanted,
            number=facts.number,
            step=differing or [*before],
            after=after,
            before=before,
        )
    mover.entries.extend(each.rows for each in after.values())


def count_batch(facts: Repartition, scene: Scene) -> None:
    """Let the folder with the batch be live."""
    path = scene.paths.identity
    facts.identity.in_folder(facts.spark).over(path).put(path, scene.held)
    failpoint.at("repartition.counts")


def take_back(facts: Repartition, scene: Scene) -> None:
    """Remove the folder, as far as it is there: it never comes to live."""
    remove_folder(scene.paths.version / facts.spark)


REPARTITION = Change(
    "repartition",
    Repartition,
    lambda facts: f"a repartition into {facts.wanted} stores for each step",
    (move_state, count_batch),
    take_back=take_back,
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


class StepContents(NamedTuple):
    """The state of one stateful operator, in all its stores."""

    rows: int
    """Of all column families: an entry of a variable's index is one too."""
    digest: int
    """The sum of the rows' hashes: the same in any order, and for any number of stores."""
    misplaced: int
    """Rows that are in another store than the one in which the next batch looks for their key."""


Contents = dict[int, StepContents]
"""Spark's number of the operator -> what it holds."""


def contents(spark: SparkSession, checkpoint: SparkPath, batch: int, partitions: int) -> Contents:
    """What the stores hold after a committed batch, which has so many `partitions`.

    Reads the whole state, with the option of the source by which Spark's own repartition reads it.
    """
    found: Contents = {}
    for operator in operators(spark, checkpoint, batch):
        stored = Stores(spark, checkpoint, batch).rows(operator.id, _readAllColumnFamilies="true")
        digest = F.xxhash64("column_family_name", "key_bytes", "value_bytes")
        # As a shuffle does, by whose partitions the stores are numbered.
        home = F.pmod(F.hash("partition_key"), F.lit(partitions))
        rows = stored.select(
            digest.cast("decimal(38,0)").alias("digest"),
            (home != F.spark_partition_id()).alias("misplaced"),
        )
        summed = rows.select(
            F.count(F.lit(1)).alias("rows"),
            F.sum("digest").alias("digest"),
            F.count_if("misplaced").alias("misplaced"),
        ).collect()[0]
        found[operator.id] = StepContents(
            int(summed["rows"]), int(summed["digest"] or 0), int(summed["misplaced"])
        )
    return found
