"""Seen: one value for a person, field by field, as far as its format reads it. Without Spark and
without a registry: a page asks for it, and knows the schemas that are kept under the root.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from spark_jobs.decode.alone import of_value
from spark_jobs.decode.formats import TOMBSTONE, Records, decoder_class, enveloped, taken_apart
from spark_jobs.errors import SluiceError
from spark_jobs.errors.base import visible
from spark_jobs.ops.json_of_tables import FieldShown
from spark_jobs.ops.rejected import Headers as Kept
from spark_jobs.spec.fields.each import of_element
from spark_jobs.values.own_columns import EMPTY

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.decode.formats import Read
    from spark_jobs.spec import Topic

MOST_FIELD: Final = 300
"""Characters of a field's value."""


def seen(
    topic: Topic, root: UPath, value: bytes, headers: Kept | None, element: int | None = None
) -> tuple[tuple[FieldShown, ...], str]:
    """The declared fields of the value, or of one of its records, each decoded alone: one that is
    wrong hides no other. Or none, and why: what is alike for all of them.
    """

    record = Records.alone(value, headers)
    found, reasons = list[FieldShown](), list[str]()
    try:
        given = decoder_class(topic.format).prepare(topic.format, topic, str(root), None)
        record, refused = _element(topic, given, record, element)
        if refused:
            return (), visible(refused, MOST_FIELD)
        for field, column, told in _each(topic, given, record):
            why = of_element(told) if told and topic.each else told
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


def _element(
    topic: Topic, given: object, value: Records, element: int | None
) -> tuple[Records, str]:
    taken = taken_apart(value, topic, given)
    if taken.of is None:
        return value, ""
    for at, each in enumerate(taken.of):
        if each.number is None:
            return value, each.why or TOMBSTONE
        if each.number == element:
            return taken.records.at([at]), each.why or ""
    count = sum(each.number != EMPTY for each in taken.of)
    return value, f"by today's spec its value has {count:,} records"


def _each(topic: Topic, given: object, record: Records) -> Iterator[Read]:
    if around := enveloped(topic):
        yield from around.each(topic, given, record)
        return
    yield from of_value(topic, given, record, topic.value_places)
