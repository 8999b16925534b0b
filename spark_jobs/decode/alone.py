"""Alone: fields of one record, each decoded by itself: one that is wrong hides no other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from spark_jobs.decode import raised
from spark_jobs.decode.formats import value_decoder

if TYPE_CHECKING:
    from spark_jobs.decode.formats import Decoded, Read, Records
    from spark_jobs.spec import Field, Topic
    from spark_jobs.spec.fields.place import Place


def of_value(
    topic: Topic, given: object, record: Records, places: Sequence[Place]
) -> Iterator[Read]:
    """The fields at these places of the value. `given` is what the topic's format has prepared."""
    kind = value_decoder(topic)
    for place in places:
        decoder = kind(topic.format, [free(place)], [place.field.name], given)
        yield alone(decoder.decode, place, record)


def alone(decode: Callable[[Records], Decoded], place: Place, record: Records) -> Read:
    """The one field that `decode` gives."""
    [column], [why] = raised.decoded(decode, record, [place.field.type])
    return place.field, column, why


def free(place: Place) -> Place:
    """One whose lack is not wrong."""
    return place._replace(field=optional(place.field))


def optional(field: Field) -> Field:
    """The same, not required."""
    return field.model_copy(update={"required": False})
