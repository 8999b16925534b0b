"""A query of `sluice state`, with its keys as the step's columns have them. Checks it against the
spec and the checkpoint, without Spark.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.begun import refuse_under_way
from spark_jobs.checkpoint.schema_notes import elsewhere
from spark_jobs.errors import StateIncompatible, StateUnreadable
from spark_jobs.messages.job import StateQuery
from spark_jobs.registry.fingerprint.environment import version
from spark_jobs.registry.fingerprint.fields import Declared, changes, fingerprint, in_force
from spark_jobs.settings.installation import Settings
from spark_jobs.spec import Pipeline
from spark_jobs.spec.columns import Columns
from spark_jobs.spec.steps.step import Step
from spark_jobs.state.keys import key_columns, key_types, parse, parse_keys
from spark_jobs.storage.root.paths import Paths


class StateTarget(NamedTuple):
    """What a checked query reads."""

    spec: Pipeline
    checkpoint: Checkpoint
    generation: str
    steps: tuple[int, ...]
    keys: dict[str, str]
    batch: int
    readable: tuple[int, ...]
    """The batches whose state Spark still has, in ascending order, without gaps."""


def resolve(spec: Pipeline, settings: Settings, query: StateQuery) -> StateTarget:
    """Raises StateUnreadable if the state does not exist, StateIncompatible if a different spec
    wrote it.
    """
    paths = Paths(settings.root, spec)
    refuse_under_way(paths)
    identity = read_identity(paths)
    checkpoint = Checkpoint(paths.checkpoint)
    keys = parse_keys(query.keys)
    if query.changes and not keys:
        raise StateUnreadable.changes_without_key()
    if query.keep and (keys or query.changes or query.step is not None):
        raise StateUnreadable.keep_of_part()
    steps = tuple(_steps(spec, query.step, keys))
    committed = checkpoint.committed()
    if identity is None or not committed:
        raise StateUnreadable.no_state_yet(pipeline=spec.name, checkpoint=paths.checkpoint)
    identity = identity.of_newest_batch(paths)
    now = fingerprint(spec, version("pyspark"))
    spec_changes = changes(identity.fingerprint, now, Declared(spec))
    differences = [
        str(change)
        for change in spec_changes
        if change.weight == "refused" and change.field != "logic"
    ]
    if differences:
        raise StateIncompatible.written_by_other_spec(
            folder=paths.version, differences="; ".join(differences)
        )
    batch = committed[-1] if query.batch is None else query.batch
    readable = tuple(checkpoint.readable())
    _refuse_batch(batch, committed, readable)
    if elsewhere(paths.checkpoint):
        raise StateUnreadable.checkpoint_moved(checkpoint=paths.checkpoint, pipeline=spec.name)
    return StateTarget(
        in_force(spec, identity.fingerprint),
        checkpoint,
        identity.generation,
        steps,
        keys,
        batch,
        readable,
    )


def format_batches(batches: Iterable[int]) -> str:
    """A range of batches without gaps, as text: "batch 7", "batches 7 to 9"."""
    first, *rest = sorted(batches)
    return f"batches {first} to {rest[-1]}" if rest else f"batch {first}"


def _steps(spec: Pipeline, wanted: int | None, keys: dict[str, str]) -> list[int]:
    """`wanted`, or all whose key has the columns. Raises StateUnreadable."""
    stateful = {number: step for number, step in enumerate(spec.steps, 1) if step.stateful}
    available = "; ".join(
        f"step {number}, {_format_step(spec, number, step)}" for number, step in stateful.items()
    )
    if wanted is not None and wanted not in stateful:
        raise StateUnreadable.step_unfit(
            step=wanted, pipeline=spec.name, available=available or "none"
        )
    if not stateful:
        raise StateUnreadable.stateless(pipeline=spec.name)
    candidates = list(stateful) if wanted is None else [wanted]
    numbers = [number for number in candidates if _has(key_columns(spec, number), keys)]
    if not numbers:
        columns = f"key column{'s' if len(keys) > 1 else ''} {' and '.join(keys)}"
        if wanted is None:
            raise StateUnreadable.key_columns_absent(columns=columns, available=available)
        raise StateUnreadable.key_columns_not_of_step(
            step=wanted, columns=columns, available=available
        )
    for number in numbers:
        types = key_types(spec, number)
        for column, text in keys.items():
            if column in types:
                parse(column, text, types[column])
    return numbers


def _has(columns: Columns, keys: dict[str, str]) -> bool:
    return columns is None or keys.keys() <= set(columns)


def _format_step(spec: Pipeline, number: int, step: Step) -> str:
    return (
        f"{step.kind} by "
        f"{', '.join(key_columns(spec, number) or ('columns that only Spark knows',))}"
    )


def _refuse_batch(batch: int, committed: list[int], readable: tuple[int, ...]) -> None:
    available = (
        f"The state of {format_batches(readable)} can be read."
        if readable
        else "Spark has purged all states."
    )
    if batch > committed[-1] or batch < 0:
        raise StateUnreadable.batch_absent(batch=batch, available=available)
    if batch not in readable:
        raise StateUnreadable.batch_purged(batch=batch, available=available)
