"""Header fields: records' headers to columns. A header is text, or the bytes that it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from spark_jobs.decode.columns.column import each_read
from spark_jobs.decode.columns.text_column import text_column
from spark_jobs.decode.columns.texts import text_of
from spark_jobs.decode.headers import Headers
from spark_jobs.values.path import as_text

if TYPE_CHECKING:
    import pyarrow as pa

    from spark_jobs.spec import Field
    from spark_jobs.spec.fields.place import Named

NOT_KEPT: Final = "its headers are not known: no field was a header when it was kept"
NO_TEXT: Final = "is no UTF-8"


class HeaderFields:
    """The fields that headers have."""

    def __init__(self, named: Sequence[Named], *, base64: bool = False) -> None:
        """`base64`: so bytes are written, as in the attributes of a CloudEvent, which are texts."""
        self._named, self._base64 = [*named], base64

    def columns(self, headers: Headers) -> tuple[dict[str, pa.Array], dict[int, str]]:
        """Field -> its column; and the number of a malformed record -> why it is."""
        columns: dict[str, pa.Array] = {}
        reasons: dict[int, str] = {}
        for field, names in self._named:
            column, wrong = _column(headers, field, names, raw=not self._base64)
            columns[field.name] = column
            if field.required and column.null_count:
                lacks = column.is_null().to_pylist()
                missing = {n: "is missing or null" for n, lack in enumerate(lacks) if lack}
                wrong = missing | wrong
            told = {n: f"header `{as_text((names[0],))}` {why}" for n, why in wrong.items()}
            reasons = told | reasons
        return columns, reasons


def _column(
    headers: Headers, field: Field, names: Sequence[str], *, raw: bool
) -> tuple[pa.Array, dict[int, str]]:
    import pyarrow.compute as pc  # noqa: PLC0415 - a process that only plans needs none

    several = field.kind == "array"
    found = [headers.all(name) if several else headers.last(name) for name in names]
    given = pc.coalesce(*found) if len(found) > 1 else found[0]
    if raw and field.type in ("binary", "array<binary>"):
        return given, {}
    if several:
        return _texts(given)
    texts, wrong = each_read(text_of, given.to_pylist(), NO_TEXT)
    column = text_column(texts, field)
    return column.array, column.wrong | wrong


def _texts(raw: pa.Array) -> tuple[pa.Array, dict[int, str]]:
    """Lists of bytes as lists of texts."""
    import pyarrow as pa  # noqa: PLC0415 - as above

    lists, wrong = each_read(
        lambda values: [None if value is None else text_of(value) for value in values],
        raw.to_pylist(),
        NO_TEXT,
    )
    return pa.array(lists, pa.list_(pa.string())), wrong
