"""Contract: of a spec, as data, what a change of it may break: two of them can be held against each
other though their modules have the same names.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from spark_jobs.errors import SluiceError
from spark_jobs.registry import find as registry
from spark_jobs.registry.fingerprint.environment import Environment, environment
from spark_jobs.registry.fingerprint.fields import fingerprint
from spark_jobs.registry.fingerprint.topic import Classification, classification
from spark_jobs.spec import Field, Pipeline
from spark_jobs.spec.analysis.ranged import unranged

if TYPE_CHECKING:
    from spark_jobs.spec.columns import Columns

INSTALLED = "as installed"
"""Spark's version: both sides have it. So no Spark need be installed where it is asked."""


class Column(BaseModel):
    """A column of the output, as far as a spec tells it without Spark."""

    model_config = ConfigDict(frozen=True)

    type: str | None = None
    nullable: bool | None = None
    made_of: str = ""
    """Where its values come from; two columns of one origin are one column that was renamed."""


class Contract(BaseModel):
    """What a change of one spec may break."""

    model_config = ConfigDict(frozen=True)

    version: int
    """The state version."""
    fingerprint: dict[str, object]
    environment: Environment
    topics: dict[str, Classification]
    """Topic -> what of its records is good."""
    root: str = ""
    """What it calls its root."""
    clusters: dict[str, str] = {}
    """Topic -> its cluster's name."""
    columns: dict[str, Column] | None
    """None where only Spark can tell."""
    key: tuple[str, ...] = ()
    """The columns that identify a row, where the last step has such."""
    partition_by: tuple[str, ...] = ()
    """The columns that part the table."""
    layout: dict[str, object] = {}
    """What else is said of its files. It may change."""
    publish_at: bool = False
    """Whether runs publish at declared ends alone."""
    days: bool
    """Whether it has the asset with an event a day."""


class Side(BaseModel):
    """A pipeline at one moment. Where `error` says something, nothing else is there."""

    model_config = ConfigDict(frozen=True)

    spec: Contract | None = None
    next: Contract | None = None
    """Of NEXT, which a rebuild computes beside it."""
    error: str = ""


def side(name: str) -> Side:
    """The pipeline as it is on this process's path."""
    try:
        spec, following = registry.load(name), registry.load_next(name)
        return Side(spec=contract(spec), next=contract(following) if following else None)
    except SluiceError as error:
        return Side(error=str(error))


def contract(spec: Pipeline) -> Contract:
    """Raises SpecInvalid if a module that its logic.py imports is not valid Python."""
    known = classification(spec)
    of = known.topics or (known,)
    return Contract(
        version=spec.state.version,
        # As an identity has it: what JSON makes of it.
        fingerprint=json.loads(json.dumps(fingerprint(spec, INSTALLED))),
        environment=environment(spec),
        topics={topic.name: each for topic, each in zip(spec.inputs, of, strict=True)},
        root=spec.root,
        clusters={topic.name: topic.cluster for topic in spec.inputs},
        columns=None if spec.is_archive else _columns(spec),
        key=(spec.steps[-1].row_key or ()) if spec.steps else (),
        partition_by=spec.layout.partition_by,
        publish_at=spec.publish_at is not None,
        layout=spec.layout.model_dump(mode="json", exclude={"partition_by"}),
        days=not spec.is_archive and unranged(spec) is None,
    )


def _columns(spec: Pipeline) -> dict[str, Column] | None:
    names: Columns = spec.inputs.columns
    types = spec.inputs.types
    made = {field.name: _of(field) for field in spec.inputs.fields}
    for step in spec.steps:
        names, types = step.columns_after(names), step.types_after(types)
        made = step.carried(made, lambda sql: Column(made_of=sql), _of)
    if names is None:
        return None
    usual = Column()
    return {
        name: made.get(name, usual).model_copy(update={"type": types.get(name)}) for name in names
    }


def _of(field: Field) -> Column:
    place = [field.part, *map(list, field.paths)]
    return Column(nullable=not field.required, made_of=json.dumps(place, default=str))
