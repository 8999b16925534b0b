"""Column types: whether a table has the columns that a dimension declares, as Arrow has them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from spark_jobs.errors import DimensionUnfit
from spark_jobs.values.conversions import arrow_type

if TYPE_CHECKING:
    import pyarrow as pa

Declared = Mapping[str, str]
"""Column of the table -> its type; empty for a time by which a row is valid."""


def refuse_unfit(
    name: str, place: object, has: Mapping[str, pa.DataType], declared: Declared
) -> None:
    """Raise DimensionUnfit for a column that is not there, or of another type."""
    if (column := misfit(has, declared)) is None:
        return
    if column not in has:
        raise lacks(name, place, column, has)
    raise DimensionUnfit.other_type(
        name=name, column=column, place=place, there=has[column],
        declared=declared[column] or "a time",
    )  # fmt: skip


def misfit(has: Mapping[str, pa.DataType], declared: Declared) -> str | None:
    """The first column that is not there, or of another type."""
    return next((each for each, kind in declared.items() if not _fits(has.get(each), kind)), None)


def _fits(has: pa.DataType | None, kind: str) -> bool:
    if has is None:
        return False
    return _alike(has, arrow_type(kind)) if kind else _is_time(has)


def lacks(name: str, place: object, column: str, has: Collection[str]) -> DimensionUnfit:
    there = ", ".join(sorted(has)) or "no rows"
    return DimensionUnfit.lacks_column(name=name, place=place, column=column, there=there)


def _alike(has: pa.DataType, wanted: pa.DataType) -> bool:
    """Whatever the parts of an array or map are called, and however text is kept."""
    import pyarrow.types as of  # noqa: PLC0415 - as above

    if of.is_struct(wanted):
        both = zip(has.fields, wanted.fields, strict=False) if of.is_struct(has) else ()
        same = [one.name == other.name and _alike(one.type, other.type) for one, other in both]
        return len(same) == wanted.num_fields == has.num_fields and all(same)
    for kinds, inner in (
        ((of.is_string, of.is_large_string, of.is_string_view), None),
        ((of.is_binary, of.is_large_binary, of.is_binary_view), None),
        ((of.is_timestamp,), "tz"),  # a file's may be of nanoseconds
        ((of.is_map,), "item_type"),
        ((of.is_list, of.is_large_list), "value_type"),
    ):
        if kinds[0](wanted):
            return any(kind(has) for kind in kinds) and (
                inner is None or _same(getattr(has, inner), getattr(wanted, inner))
            )
    return bool(has.equals(wanted))


def _same(has: Any, wanted: Any) -> bool:
    """Of an array's parts their types, of a time whether it has a zone."""
    if wanted is None or isinstance(wanted, str):
        return (has is None) == (wanted is None)
    return _alike(has, wanted)


def _is_time(has: pa.DataType) -> bool:
    import pyarrow.types as of  # noqa: PLC0415 - as above

    return bool(of.is_timestamp(has) or of.is_date(has))


def typed(rows: pa.Table, declared: Declared) -> pa.Table:
    import pyarrow as pa  # noqa: PLC0415 - as above

    return pa.table(
        {
            name: rows.column(name).cast(arrow_type(kind)) if kind else times(rows.column(name))
            for name, kind in declared.items()
        }
    )


def times(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of times or dates as times of UTC."""
    import pyarrow as pa  # noqa: PLC0415 - as above

    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("us"))
    return column.cast(arrow_type("timestamp"))
