"""Texts: records that are named texts, as of CSV and of lines, to the columns of fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from spark_jobs.decode.columns.column import each_read
from spark_jobs.decode.columns.judged import judged
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


def text_of(value: bytes) -> str:
    """A value that is text, without a byte order mark in front of it. Raises UnicodeDecodeError."""
    return value.decode("utf-8-sig")


def utf8(values: pa.Array) -> pa.Array:
    """Bytes as texts; null where they are none."""
    import pyarrow as pa  # noqa: PLC0415 - a process that only plans needs it not

    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid:
        texts, _ = each_read(bytes.decode, values.to_pylist(), "")
        return pa.array(texts, pa.string())


def decoded(
    texts: Mapping[str, pa.Array],
    reasons: list[str | None],
    places: Sequence[Place],
    wanted: Sequence[str],
) -> Decoded:
    """The fields' columns. `texts`: name -> the text of each record."""
    import pyarrow.compute as pc  # noqa: PLC0415 - as above

    columns = (
        text_column(pc.coalesce(*(texts[str(path[0])] for path in place.paths)), place.field)
        for place in places
    )
    return judged(places, columns, wanted, reasons)
