"""Repartition: moves the state to another number of stores, as a batch that reads no record.

Spark writes that batch (StreamingCheckpointManager.repartition, new in 4.2), in a folder of its own
(checkpoint/branch.py). Sluice reads the state before and after, and lets the folder count only if
both are the same: by one write, identity.json's. One that ends before is taken back, since the next
holder of the lease has no Spark.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.checkpoint.branch import branch, name_one
from spark_jobs.checkpoint.identity import Identity
from spark_jobs.errors import RepartitionRefused
from spark_jobs.journal.change import Change, Facts, Scene
from spark_jobs.journal.runner import carry_out, leased
from spark_jobs.launch.cluster import Cluster
from spark_jobs.runs.resume.settling import settle
from spark_jobs.runs.to_move import look
from spark_jobs.settings.installation import Settings
from spark_jobs.spec import Pipeline
from spark_jobs.storage import failpoint
from spark_jobs.storage.folders import remove_folder
from spark_jobs.storage.object_store import require_writable
from spark_jobs.storage.root.path_forms import state_url
from spark_jobs.storage.root.paths import Paths

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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


def repartition(spec: Pipeline, settings: Settings, wanted: int) -> Iterator[str]:
    """Move the state to `wanted` stores for each stateful step; lines of what was done.

    Raises what `look` does, LeaseHeld, LeaseLost, and RepartitionRefused if the moved state is not
    the same.
    """
    paths = Paths(settings.root, spec)
    require_writable(paths)
    with leased(paths, WHO) as held, Cluster(spec.name, settings) as cluster:
        failpoint.at("repartition.leased")
        look(spec, paths, wanted)  # it refuses before anything is changed
        yield from settle(paths, held)
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
    from spark_jobs.state.contents import contents  # noqa: PLC0415 - a drain needs only what is below

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
