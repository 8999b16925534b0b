"""To move: what a repartition finds, and what it refuses, without Spark."""

from __future__ import annotations

from typing import NamedTuple

from spark_jobs.checkpoint.identity import Identity, read_identity
from spark_jobs.checkpoint.integrity import refuse_damaged_logs, refuse_missing_state
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.begun import refuse_under_way
from spark_jobs.checkpoint.notes.rebuild_note import read_begun
from spark_jobs.errors import RepartitionRefused, StateIncompatible
from spark_jobs.registry.fingerprint.environment import version
from spark_jobs.registry.fingerprint.fields import Declared, changes, fingerprint, in_force, movable
from spark_jobs.spec import Pipeline
from spark_jobs.spec.pipeline.state import MOST_PARTITIONS
from spark_jobs.storage.root.paths import Paths


class ToMove(NamedTuple):
    """What a repartition finds."""

    spec: Pipeline
    """With the state settings that the checkpoint has."""
    identity: Identity
    batch: int
    """The newest batch: its state is moved."""
    number: int
    """Of the stores that each stateful step has now."""


def look(spec: Pipeline, paths: Paths, wanted: int) -> ToMove:
    """What there is to move. Writes nothing.

    How many stores there are, the checkpoint says, and not the identity. Raises
    RepartitionRefused, StateIncompatible, and CheckpointBroken if the checkpoint is damaged or a
    change has begun and not ended.
    """
    name, checkpoint = spec.name, Checkpoint(paths.checkpoint)
    if not 1 <= wanted <= MOST_PARTITIONS:
        raise RepartitionRefused.stores_out_of_range(
            pipeline=name,
            wanted=wanted,
            most=MOST_PARTITIONS,
        )
    if not spec.keeps_state:
        raise RepartitionRefused.stateless(pipeline=name)
    refuse_under_way(paths)
    known = read_identity(paths)
    if known is None or not checkpoint.committed():
        raise RepartitionRefused.no_state_yet(
            pipeline=name,
            checkpoint=paths.checkpoint,
            wanted=wanted,
        )
    _refuse_unmovable(spec, known)
    _refuse_other_steps(spec, known, paths)
    if (begun := read_begun(paths)) and not paths.place.beside:
        raise RepartitionRefused.rebuild_at_work(pipeline=name, began=begun.began)
    refuse_damaged_logs(checkpoint, name)
    newest = checkpoint.planned()[-1]
    if newest not in checkpoint.committed():
        raise RepartitionRefused.batch_uncommitted(newest=newest, pipeline=name)
    refuse_missing_state(checkpoint, name, newest)
    now = known.with_partitions(checkpoint.partitions(newest))
    ours = in_force(spec, now.fingerprint)
    return ToMove(ours, now, newest, ours.state.shuffle_partitions)


def _refuse_unmovable(spec: Pipeline, known: Identity) -> None:
    name, stored = spec.name, known.fingerprint
    if not movable(stored, spec.state.format):
        raise RepartitionRefused.provider_unmovable(
            pipeline=name,
            provider=stored["state.provider"],
            form=stored.get("state.format", 1),
        )
    for at, step in enumerate(spec.steps, 1):
        if step.takes:
            raise RepartitionRefused.inputs_apart(
                step=at, pipeline=name, inputs=", ".join(step.takes)
            )
    alone = [
        at
        for at, step in enumerate(spec.steps, 1)
        if step.update_key == ()  # all rows are one group
    ]
    if alone:
        raise RepartitionRefused.step_without_keys(step=alone[0], pipeline=name)


def _refuse_other_steps(spec: Pipeline, known: Identity, paths: Paths) -> None:
    """Raise StateIncompatible if the state was made by other steps: what was found movable above
    would be another's. Nothing else of the spec matters, nor a change that no batch is made by yet.
    """
    now = fingerprint(spec, version("pyspark"))
    found = [
        [
            str(change)
            for change in changes(each.fingerprint, now, Declared(spec))
            if change.weight == "refused" and change.field.startswith("steps[")
        ]
        for each in (known, known.of_newest_batch(paths))
    ]
    if all(found):
        raise StateIncompatible.steps_changed(
            folder=paths.version,
            differences="; ".join(found[-1]),
            pipeline=spec.name,
        )
