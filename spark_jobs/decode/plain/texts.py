"""Texts: records that are named texts, as of CSV and of lines, to the columns of fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from spark_jobs.decode.columns.text_column import text_column
from spark_jobs.decode.formats import Decoded
from spark_jobs.values import path as paths

if TYPE_CHECKING:
    import pyarrow as pa

    from spark_jobs.spec.fields.place import Place


def refused_places(places: Sequence[Place], names: Sequence[str]) -> list[str]:
    """The paths of the fields that no text has."""
    known = {*names}
    return [
        paths.as_text(path)
        for place in places
        for path in place.paths
        if len(path) != 1 or path[0] not in known
    ]


def decoded(
    texts: Mapping[str, Sequence[str | None]],
    reasons: list[str | None],
    places: Sequence[Place],
    wanted: Sequence[str],
) -> Decoded:
    """The fields' columns. `texts`: name -> the text of each record."""
    found: dict[str, pa.Array] = {}
    for place in places:
        field, where = place.field, paths.as_text(place.paths[0])
        values = texts[str(place.paths[0][0])]
        for path in place.paths[1:]:
            others = texts[str(path[0])]
            values = [
                other if value is None else value
                for value, other in zip(values, others, strict=True)
            ]
        column = text_column(values, field)
        found[field.name] = column.array
        for index, why in column.wrong.items():
            reasons[index] = reasons[index] or f"`$.{where}` {why}"
        if field.required and None in values:
            for index, value in enumerate(values):
                if value is None:
                    lacks = f"Object missing required field `{where}`, or it is null"
                    reasons[index] = reasons[index] or lacks
    return Decoded([found[name] for name in wanted], reasons)
