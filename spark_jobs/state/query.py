"""What is asked of a pipeline's state, held against what there is: all that can be refused without Spark."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from typing import NamedTuple

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.contract.columns import Columns
from spark_jobs.contract.errors import StateIncompatible, StateUnreadable
from spark_jobs.contract.fingerprint import changes, fingerprint, in_force
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.settings import Settings
from spark_jobs.contract.spec import Pipeline
from spark_jobs.contract.steps import Step
from spark_jobs.state.keys import key_columns, key_types, named
from spark_jobs.state.literal import parse


class Inquiry(NamedTuple):
    """What a person asks. Steps are counted from 1, as `sluice explain` does."""

    keys: tuple[str, ...] = ()
    """COLUMN=VALUE, each of another column of the step's key."""
    step: int | None = None
    """One step; None for every stateful one that has these key columns."""
    batch: int | None = None
    """The state after this batch; None for the last committed one."""
    changes: bool = False
    """What the batches changed, instead of the state."""
    batches: int = 10
    """How many batches, back from `batch`, to tell the changes of."""
    limit: int = 20
    """How many rows to show: of each variable, or of each batch's changes."""

    def words(self) -> list[str]:
        """The same as options of main.py."""
        numbers = {"--step": self.step, "--at-batch": self.batch, "--batches": self.batches, "--limit": self.limit}
        return [
            *(f"--key={key}" for key in self.keys), *(["--changes"] if self.changes else []),
            *(f"{option}={number}" for option, number in numbers.items() if number is not None),
        ]


class Target(NamedTuple):
    """An inquiry that can be answered."""

    spec: Pipeline
    checkpoint: Checkpoint
    generation: str
    steps: tuple[int, ...]
    keys: dict[str, str]
    batch: int
    readable: tuple[int, ...]
    """The batches whose state can be read, ascending and without a gap."""


def resolve(spec: Pipeline, settings: Settings, inquiry: Inquiry) -> Target:
    """Raises StateUnreadable where there is no such state, StateIncompatible where another spec made it."""
    paths = Paths(settings.root, spec)
    known = read_identity(paths)
    checkpoint = Checkpoint(paths.checkpoint)
    keys = named(inquiry.keys)
    if inquiry.changes and not keys:
        raise StateUnreadable("the changes of all keys together would be the whole state, batch by batch.",
                              "Name a key: --key COLUMN=VALUE.")
    steps = tuple(_steps(spec, inquiry.step, keys))
    committed = checkpoint.committed()
    if known is None or not committed:
        raise StateUnreadable(f"{spec.name} has no state yet: no batch is committed in {paths.checkpoint}.",
                              f"Run `sluice drain {spec.name}` first.")
    found = changes(known.fingerprint, fingerprint(spec, version("pyspark")), spec)
    differences = [str(change) for change in found if change.weight == "refused" and change.field != "logic"]
    if differences:
        raise StateIncompatible(f"the state at {paths.version} was made by another spec: {'; '.join(differences)}.",
                                "Revert the spec to look at it.")
    batch = committed[-1] if inquiry.batch is None else inquiry.batch
    readable = tuple(checkpoint.readable())
    _refuse_batch(batch, committed, readable)
    return Target(in_force(spec, known.fingerprint), checkpoint, known.generation, steps, keys, batch, readable)


def span(batches: Iterable[int]) -> str:
    """Batches without a gap, in words."""
    first, *rest = sorted(batches)
    return f"batches {first} to {rest[-1]}" if rest else f"batch {first}"


def _steps(spec: Pipeline, wanted: int | None, keys: dict[str, str]) -> list[int]:
    """The numbers of the steps to read: the wanted one, or those whose key has all the columns."""
    stateful = {number: step for number, step in enumerate(spec.steps, 1) if step.stateful}
    there = "; ".join(f"step {number}, {_described(spec, number, step)}" for number, step in stateful.items())
    if wanted is not None and wanted not in stateful:
        why = f"is a {spec.steps[wanted - 1].kind} and keeps no state" if 1 <= wanted <= len(spec.steps) else "does not exist"
        raise StateUnreadable(f"step {wanted} of {spec.name} {why}.", f"With state: {there or 'none'}.")
    if not stateful:
        raise StateUnreadable(f"no step of {spec.name} keeps state.", "There is nothing to see.")
    numbers = list(stateful) if wanted is None else [wanted]
    found = [number for number in numbers if _has(key_columns(spec, number), keys)]
    if not found:
        raise StateUnreadable(f"{' and '.join(keys)} is in the key of {'no step' if wanted is None else f'no step {wanted}'}.",
                              f"With state: {there}.")
    for number in found:
        types = key_types(spec, number)
        for column, text in keys.items():
            if column in types:
                parse(column, text, types[column])
    return found


def _has(columns: Columns, keys: dict[str, str]) -> bool:
    return columns is None or keys.keys() <= set(columns)


def _described(spec: Pipeline, number: int, step: Step) -> str:
    return f"{step.kind} by {', '.join(key_columns(spec, number) or ('columns that Spark knows',))}"


def _refuse_batch(batch: int, committed: list[int], readable: tuple[int, ...]) -> None:
    there = f"The state of {span(readable)} can be read." if readable else "No batch's state can be read any more."
    if batch > committed[-1] or batch < 0:
        raise StateUnreadable(f"batch {batch} is not committed.", there)
    if batch not in readable:
        raise StateUnreadable(f"the state of batch {batch} is purged: Spark keeps that of the last batches only.", there)
