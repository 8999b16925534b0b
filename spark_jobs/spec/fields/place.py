"""Places: where in a record's value each field is, with the topic's envelope taken off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from spark_jobs.spec.fields.field import Field
from spark_jobs.spec.fields.form import CLOUDEVENTS, Form
from spark_jobs.values.path import Path

Envelope = Literal["debezium", "cloudevents"]


class Place(NamedTuple):
    """Where a format finds a field."""

    field: Field
    paths: tuple[Path, ...]
    """The first one with a value counts."""
    bases: tuple[Path, ...] = ((),)
    """Where the paths begin: the first one that is there and not null."""


PAYLOAD: Final = "payload"
"""The key of what Kafka Connect writes a schema beside, unless it is told not to."""
FORMS: Final[dict[Envelope, Form]] = {
    # With Kafka Connect's schema beside it, or without. The row of a delete is the one before.
    "debezium": Form(
        ((PAYLOAD, "after"), (PAYLOAD, "before"), ("after",), ("before",)), ((PAYLOAD,), ())
    ),
    "cloudevents": CLOUDEVENTS,
}


def value_places(fields: Sequence[Field], envelope: Envelope | None) -> tuple[Place, ...]:
    """The places in the value, in declared order of their fields."""
    form = FORMS[envelope] if envelope else Form(((),), ())
    return tuple(
        Place(field, field.paths, form.rows if field.part == "value" else form.around)
        for field in (*fields, *form.signs)
        if field.part in ("value", "envelope")
    )


def key_places(fields: Sequence[Field]) -> tuple[Place, ...]:
    """The places in the key, in declared order of their fields."""
    return tuple(Place(field, field.paths) for field in fields if field.part == "key")


class Named(NamedTuple):
    """A field that headers have, and the headers' names: the first one with a value counts."""

    field: Field
    names: tuple[str, ...]


def header_names(fields: Sequence[Field]) -> tuple[Named, ...]:
    """The headers that fields name, in declared order."""
    return tuple(
        Named(field, tuple(str(path[0]) for path in field.paths))
        for field in fields
        if field.part == "header"
    )


def data_places(fields: Sequence[Field], envelope: Envelope | None) -> tuple[Place, ...]:
    """Those that the topic's format finds: of an envelope that may be headers the row, which is the
    whole value then.
    """
    if envelope is None or FORMS[envelope].header is None:
        return value_places(fields, envelope)
    return value_places([field for field in fields if field.part == "value"], None)


def attribute_names(fields: Sequence[Field], envelope: Envelope | None) -> tuple[Named, ...]:
    """The fields of an envelope that may be headers; none of another one."""
    form = FORMS[envelope] if envelope else None
    header = form and form.header
    if form is None or header is None:
        return ()
    return tuple(
        Named(field, tuple(map(header, field.paths)))
        for field in (*fields, *form.signs)
        if field.part == "envelope"
    )


def overlapping(places: tuple[Place, ...]) -> tuple[Place, Place] | None:
    """Two fields, one a part of the other, or one leads to a key where the other has a
    place in an array; None without any. One value may be read in two types.
    """
    whole, below = dict[Path, Place](), dict[tuple[Path, bool], Place]()
    for place in places:
        for path in [(*base, *path) for base in place.bases for path in place.paths]:
            steps = [(path[:at], not isinstance(path[at], str)) for at in range(len(path))]
            clashing = (
                *(whole.get(above) for above, _ in steps),
                *(below.get((above, not in_array)) for above, in_array in steps),
                *(below.get((path, in_array)) for in_array in (True, False)),
            )
            if other := next(filter(None, clashing), None):
                return other, place
            whole[path] = place
            for step in steps:
                below.setdefault(step, place)
    return None
