"""Places: where in a record's value each field is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from spark_jobs.spec.topic import Field, Topic

Path = tuple[str | int, ...]
"""Keys of objects, and places in arrays from 0: ("data", "user-agent", 0)."""


class Place(NamedTuple):
    """Where a format finds a field."""

    field: Field
    paths: tuple[Path, ...]
    """The first one with a value counts."""
    bases: tuple[Path, ...] = ((),)
    """Where the paths begin: the first one that is there and not null."""


def value_places(topic: Topic) -> tuple[Place, ...]:
    """Those of the fields that the value has, in declared order."""
    return tuple(Place(field, ((field.name,),)) for field in topic.fields)
