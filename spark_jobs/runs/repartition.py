"""Repartition: moves the state to another number of stores, as a batch that reads no record.

Spark writes that batch (StreamingCheckpointManager.repartition, new in 4.2). Sluice reads the state
before and after, and lets the batch count only if both are the same: by one write, that of the
number in identity.json. A repartition that is cut off before has changed nothing: the next run, or
the same command, takes back what is there of it (checkpoint/repartitioned.py).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs import failpoint
from spark_jobs.checkpoint.identity import Identity, read_identity
from spark_jobs.checkpoint.integrity import refuse_damaged_logs, remove_orphan_checksums
from spark_jobs.checkpoint.lease import HeldLease, lease
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.repartitioned import FIELD, cut_off, take_back
from spark_jobs.contract.errors import RepartitionRefused, SluiceError
from spark_jobs.contract.fingerprint import in_force
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.settings import Settings
from spark_jobs.contract.spec import MOST_PARTITIONS, Pipeline
from spark_jobs.contract.store import spark_url
from spark_jobs.launch.cluster import Cluster
from spark_jobs.rebuild.side import read_begun
from spark_jobs.storage.object_store import require_writable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG = logging.getLogger(__name__)


class Repartition(NamedTuple):
    """What a repartition finds."""

    spec: Pipeline
    """With the state settings that the checkpoint has."""
    identity: Identity
    batch: int
    """The newest batch that counts: its state is moved."""
    number: int
    """Of the stores that each stateful step has now."""
    cut_off: int | None
    """The batch of a repartition that was cut off; None without one."""


def look(spec: Pipeline, paths: Paths, wanted: int) -> Repartition:
    """What there is to move. Writes nothing.

    Raises RepartitionRefused, and CheckpointBroken if the checkpoint is damaged or a reset, a
    rewind or a switch was cut off.
    """
    name, checkpoint = spec.name, Checkpoint(paths.checkpoint)
    if not 1 <= wanted <= MOST_PARTITIONS:
        raise RepartitionRefused(
            f"{name} cannot have {wanted:,} state stores for each step.",
            f"Name a number from 1 to {MOST_PARTITIONS:,}: about as many as cores.",
        )
    if not any(step.stateful for step in spec.steps):
        raise RepartitionRefused(f"{name} keeps no state: there is nothing to move.")
    known = read_identity(paths)
    if known is None or not checkpoint.committed():
        raise RepartitionRefused(
            f"{name} has no state yet: no batch is committed in {paths.checkpoint}.",
            f"Set state.shuffle_partitions={wanted} in spec.py: the first batch takes it.",
        )
    ours = in_force(spec, known.fingerprint)
    if ours.state.provider != "rocksdb" or known.fingerprint["state.format"] != ours.state.format:
        raise RepartitionRefused(
            f"the state of {name} is in {ours.state.provider}, format "
            f"{known.fingerprint['state.format']}: Spark moves only RocksDB's, of format 2.",
            f"Compute it anew with another store: `sluice rebuild {name}`, with NEXT in spec.py.",
        )
    if begun := read_begun(paths):
        raise RepartitionRefused(
            f"{name}: a rebuild is at work since {begun.began:%F %H:%M} UTC. The state that it "
            "makes has stores of its own, and a switch would put it in the place of this one.",
            f"Complete it (`sluice rebuild {name} --execute`), or remove it (`--discard`).",
        )
    refuse_damaged_logs(checkpoint, name)
    begun_batch = cut_off(checkpoint, known.fingerprint[FIELD])
    batches = [each for each in checkpoint.planned() if each != begun_batch]
    if batches[-1] not in checkpoint.committed():
        raise RepartitionRefused(
            f"batch {batches[-1]} of {name} was begun and not committed: its state is not there.",
            f"Let a run complete it: sluice drain {name}",
        )
    return Repartition(ours, known, batches[-1], ours.state.shuffle_partitions, begun_batch)


def repartition(spec: Pipeline, settings: Settings, wanted: int) -> Iterator[str]:
    """Move the state to `wanted` stores for each stateful step; lines of what was done.

    Raises what `look` does, LeaseHeld, LeaseLost, and RepartitionRefused if the moved state is not
    the same.
    """
    paths = Paths(settings.root, spec)
    require_writable(paths)
    with (
        lease(paths.lease, "sluice repartition") as held,
        Cluster(spec.name, settings) as cluster,
    ):
        failpoint.at("repartition.leased")
        found = look(spec, paths, wanted)
        if found.cut_off is not None:
            yield take_back_cut_off(paths, held)
        if found.number == wanted:
            yield f"{spec.name}: the state is in {wanted} stores for each step: nothing to move"
            return
        remove_orphan_checksums(Checkpoint(paths.checkpoint))
        spark = cluster.session(found.spec.state)
        try:
            yield from _move(spark, paths, found, wanted, held)
        except Exception:
            with suppress(Exception):  # why it failed is told; else the next run takes it back
                take_back_cut_off(paths, held)
            raise


def _move(
    spark: SparkSession, paths: Paths, found: Repartition, wanted: int, held: HeldLease
) -> Iterator[str]:
    from spark_jobs.state.contents import contents  # noqa: PLC0415 - a drain needs only what is below

    name, folder = found.spec.name, spark_url(paths.checkpoint)
    with _each_shuffle_as_planned(spark):
        before = contents(spark, folder, found.batch, found.number)
        held.confirm()
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
    found.identity.with_partitions(wanted, batches=1).write(paths.identity)
    failpoint.at("repartition.counts")
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


def take_back_cut_off(paths: Paths, held: HeldLease) -> str:
    """Take back a repartition that was cut off, and say so; empty if there is none.

    Nor is there one in a checkpoint that is damaged: what reads it next says what is wrong.
    """
    try:
        known, checkpoint = read_identity(paths), Checkpoint(paths.checkpoint)
        batch = cut_off(checkpoint, known.fingerprint[FIELD]) if known else None
    except SluiceError:
        return ""
    if batch is None:
        return ""
    held.confirm()
    take_back(checkpoint, batch)
    return (
        f"{paths.pipeline}: batch {batch}, of a repartition that was cut off, is taken back; the "
        "state is in as many stores as before"
    )
