"""Output: what a pipeline's table has, for another one that reads it as a topic."""

from __future__ import annotations

from typing import Final

from spark_jobs.registry import find as registry
from spark_jobs.spec import Field
from spark_jobs.spec.analysis.columns import types_of
from spark_jobs.spec.model import refuse
from spark_jobs.values import type_tree

_ASKED: Final = list[str]()
"""The pipelines whose output is being asked for, each for the one before it."""


def fields_of(pipeline: str, event_time: str) -> tuple[Field, ...]:
    """The columns of its output. Raises SpecInvalid: of a table that follows a key, whose rows
    change; of one of which only Spark knows the columns; of pipelines that read each other.
    """
    if pipeline in _ASKED:
        way = " -> ".join((*_ASKED[_ASKED.index(pipeline) :], pipeline))
        refuse("of", pipeline, f"they read each other: {way}", "Read a table that is made before")
    _ASKED.append(pipeline)
    try:
        spec = registry.load(pipeline)
    finally:
        _ASKED.pop()
    if spec.keyed or spec.output_mode != "append":
        refuse(
            "of",
            pipeline,
            "its rows are replaced as keys and groups change, so they are no stream",
            f"Read it beside the stream: Lookup(dimension=Dimension(table='{pipeline}', ...))",
        )
    types = types_of(spec)
    if types is None:
        refuse("of", pipeline, "only Spark knows its columns", "Declare fields=(Field(...), ...)")
    return tuple(
        Field(name=name, type=kind, required=name == event_time)
        for name, kind in types.items()
        if _decoded(kind)
    )


def _decoded(kind: str) -> bool:
    """Whether a field may have this type."""
    try:
        type_tree.parsed(kind)
    except ValueError:
        return False
    return True
