"""Unfound: which quarantined records a Lookup finds no row for still, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.noted_versions import noted_now
from spark_jobs.side.dimension import DimensionSide
from spark_jobs.side.place import Root
from spark_jobs.spec import Lookup, Pipeline

if TYPE_CHECKING:
    from spark_jobs.storage.root.paths import Paths


class Unfound(NamedTuple):
    """A Lookup that rejects records."""

    step: Lookup
    finds: Callable[[tuple[Any, ...], datetime], bool]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns by which it finds rows, in the order of the key."""
        return tuple(self.step.on[key.name] for key in self.step.dimension.keys)

    def reason(self, values: Mapping[str, Any], time: datetime) -> str:
        """Why a record with these values has none; empty if it has one."""
        key = tuple(values.get(name) for name in self.columns)
        return "" if self.finds(key, time) else self.step.rejected_because


def unfound(spec: Pipeline, paths: Paths) -> Sequence[Unfound]:
    """By the version that is noted for the newest batch, as a repair has it; nothing of one that is
    not noted yet, or that cannot be read any more.
    """
    steps = [step for step in spec.before_state if isinstance(step, Lookup) and step.rejects]
    if not steps:
        return ()
    noted, root = noted_now(Checkpoint(paths.checkpoint), spec), Root(str(paths.root))
    sides = [(step, DimensionSide(step.dimension, root)) for step in steps]
    return tuple(
        Unfound(step, side.finder(noted[step.dimension.name]))
        for step, side in sides
        if step.dimension.name in noted and side.has(noted[step.dimension.name])
    )
