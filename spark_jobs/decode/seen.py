"""Seen: one value for a person, field by field, as far as its format reads it. Without Spark and
without a registry: a page asks for it, and knows the schemas that are kept under the root.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from spark_jobs.decode import raised
from spark_jobs.decode.envelopes.carried_data import CarriedData
from spark_jobs.decode.envelopes.cloudevents import binary_modes, in_json
from spark_jobs.decode.formats import Records, decoder_class
from spark_jobs.decode.header_fields import HeaderFields
from spark_jobs.decode.headers import Headers
from spark_jobs.errors import SluiceError
from spark_jobs.errors.visible import visible
from spark_jobs.ops.json_of_tables import FieldShown
from spark_jobs.ops.record import Headers as Kept
from spark_jobs.ops.schema import HEADERS

if TYPE_CHECKING:
    import pyarrow as pa
    from upath import UPath

    from spark_jobs.decode.formats import Decoded
    from spark_jobs.spec import Field, Topic
    from spark_jobs.spec.fields.place import Place

    Read = tuple[Field, pa.Array, str | None]
    """A field, its column of one record, and why the record is malformed by it."""

MOST_FIELD: Final = 300
"""Characters of a field's value."""


def seen(
    topic: Topic, root: UPath, value: bytes, headers: Kept | None
) -> tuple[tuple[FieldShown, ...], str]:
    """The declared fields of the value, each decoded alone: one that is wrong hides no other. Or
    none, and why: what is alike for all of them.
    """
    import pyarrow as pa  # noqa: PLC0415 - a process that only plans needs it not

    number, none = pa.array([0], pa.int32()), pa.array([None], pa.timestamp("us", "UTC"))
    values, keys = pa.array([value], pa.binary()), pa.array([None], pa.binary())
    named = pa.array([headers], HEADERS)
    record = Records(values, keys, number, number.cast(pa.int64()), none, named)
    found, reasons = list[FieldShown](), list[str]()
    try:
        for field, column, why in _each(topic, root, record):
            got = None if why else column[0].as_py()
            text = None if got is None else json.dumps(got, ensure_ascii=False, default=str)
            found.append(
                FieldShown(
                    name=visible(field.name, MOST_FIELD),
                    declared=field.type,
                    value=None if text is None else visible(text, MOST_FIELD),
                    wrong=visible(why, MOST_FIELD) if why else None,
                )
            )
            reasons.append(why or "")
    except SluiceError as error:
        return (), visible(str(error), MOST_FIELD)
    if len({*reasons}) == 1 and reasons[0]:
        return (), visible(reasons[0], MOST_FIELD)
    return tuple(found), ""


def _each(topic: Topic, root: UPath, record: Records) -> Iterator[Read]:
    if topic.envelope != "cloudevents":
        yield from _of_value(topic, root, record, topic.value_places)
        return
    headers = Headers(record.headers)
    [binary], wrong = binary_modes(headers)
    if not binary:
        whole, given = in_json(topic.format), _given(topic, root)
        data = {each.field.name: (_free(each),) for each in topic.data_places}
        for place in topic.value_places:
            name = place.field.name
            by = CarriedData(
                topic.format, whole, (_free(place),), data.get(name, ()), [name], given
            )
            field, column, why = _alone(by.decode, place, record)
            yield field, column, wrong.get(0, why)
        return
    yield from _of_value(topic, root, record, topic.data_places)
    for named in topic.attribute_names:
        free = named._replace(field=_optional(named.field))
        columns, reasons = HeaderFields([free], base64=True).columns(headers)
        yield named.field, columns[named.field.name], reasons.get(0)


def _of_value(
    topic: Topic, root: UPath, record: Records, places: Sequence[Place]
) -> Iterator[Read]:
    kind, given = decoder_class(topic.format), _given(topic, root)
    for place in places:
        decoder = kind(topic.format, [_free(place)], [place.field.name], given)
        yield _alone(decoder.decode, place, record)


def _given(topic: Topic, root: UPath) -> object:
    return decoder_class(topic.format).prepare(topic.format, topic, str(root), None)


def _alone(decode: Callable[[Records], Decoded], place: Place, record: Records) -> Read:
    [column], [why] = raised.decoded(decode, record, [place.field.type])
    return place.field, column, why


def _free(place: Place) -> Place:
    """One whose lack is not wrong."""
    return place._replace(field=_optional(place.field))


def _optional(field: Field) -> Field:
    return field.model_copy(update={"required": False})
