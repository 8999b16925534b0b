"""Judged: the columns of a format's places, and why which record is malformed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from spark_jobs.decode.formats import Decoded
from spark_jobs.values.path import as_text

if TYPE_CHECKING:
    from spark_jobs.decode.columns.column import Column
    from spark_jobs.spec.fields.place import Place


def judged(
    places: Sequence[Place],
    columns: Iterable[Column],
    wanted: Sequence[str],
    reasons: list[str | None],
) -> Decoded:
    """Of the columns of these places the wanted ones. A record has the first reason that it gets,
    the given ones before those of its fields.
    """
    import pyarrow.compute as pc  # noqa: PLC0415 - a process that only plans needs it not

    found = {}
    for place, (array, wrong) in zip(places, columns, strict=True):
        field, where = place.field, as_text(place.paths[0])
        found[field.name] = array
        for index, why in wrong.items():
            reasons[index] = reasons[index] or f"`$.{where}` {why}"
        if field.required and array.null_count:
            lacks = f"Object missing required field `{where}`, or it is null"
            for index in pc.indices_nonzero(pc.is_null(array)).to_pylist():
                reasons[index] = reasons[index] or lacks
    return Decoded([found[name] for name in wanted], reasons)
