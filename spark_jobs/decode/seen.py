"""Seen: one value for a person, field by field, as far as its format reads it. Without Spark and
without a registry: a page asks for it, and knows the schemas that are kept under the root.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from spark_jobs.decode.alone import of_value
from spark_jobs.decode.formats import Records, decoder_class, enveloped, taken_apart
from spark_jobs.errors import SluiceError
from spark_jobs.errors.base import visible
from spark_jobs.ops.json_of_tables import FieldShown
from spark_jobs.ops.rejected import Headers as Kept

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
        for field, column, why in _each(topic, root, record, element):
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


def _each(topic: Topic, root: UPath, record: Records, element: int | None) -> Iterator[Read]:
    given = decoder_class(topic.format).prepare(topic.format, topic, str(root), None)
    if around := enveloped(topic):
        yield from around.each(topic, given, record)
        return
    taken = taken_apart(record, topic, given)
    yield from of_value(topic, given, taken.records.at([element or 0]), topic.value_places)
