"""What refuses the declaration of a table beside the stream, before a run."""

from __future__ import annotations

from spark_jobs.errors import SpecInvalid
from spark_jobs.registry import find as registry
from spark_jobs.settings.installation import Settings
from spark_jobs.side.port import side_of
from spark_jobs.spec import Pipeline


def refuse_misdeclared(spec: Pipeline, settings: Settings) -> None:
    """Raise what refuses the declaration of a table beside the stream."""
    _refuse_circle(spec, (spec.name,))
    for side in spec.sides:
        side_of(side, settings).refuse_misdeclared()


def _refuse_circle(spec: Pipeline, way: tuple[str, ...]) -> None:
    """Each change of a table would change it again; and none could be published first."""
    for name in (side.pipeline for side in spec.sides if side.pipeline):
        if name in way:
            circle = (*way[way.index(name) :], name)
            raise SpecInvalid.sides_in_circle(pipeline=name, way=" -> ".join(circle))
        _refuse_circle(registry.load(name), (*way, name))
