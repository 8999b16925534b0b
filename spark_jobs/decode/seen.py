"""Seen: one value for a person, field by field, as far as its format reads it. Without Spark and
without a registry: a page asks for it, and knows the schemas that are kept under the root.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from spark_jobs.decode.formats import Records, decoder_class
from spark_jobs.errors import SluiceError
from spark_jobs.errors.visible import visible
from spark_jobs.ops.record import Headers
from spark_jobs.ops.schema import HEADERS
from spark_jobs.ops.shown import FieldShown

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.spec import Topic

MOST_FIELD: Final = 300
"""Characters of a field's value."""


def seen(
    topic: Topic, root: UPath, value: bytes, headers: Headers | None
) -> tuple[tuple[FieldShown, ...], str]:
    """The declared fields of the value, each decoded alone: one that is wrong hides no other. Or
    none, and why: what is alike for all of them.
    """
    import pyarrow as pa  # noqa: PLC0415 - a process that only plans needs it not

    kind = decoder_class(topic.format)
    number, none = pa.array([0], pa.int32()), pa.array([None], pa.timestamp("us", "UTC"))
    values, keys = pa.array([value], pa.binary()), pa.array([None], pa.binary())
    named = pa.array([headers], HEADERS)
    record = Records(values, keys, number, number.cast(pa.int64()), none, named)
    found, reasons = list[FieldShown](), list[str]()
    try:
        given = kind.prepare(topic.format, topic, str(root), None)
        for place in topic.value_places:
            field = place.field
            free = place._replace(field=field.model_copy(update={"required": False}))
            columns, [why] = kind(topic.format, [free], [field.name], given).decode(record)
            got = None if why else columns[0][0].as_py()
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
