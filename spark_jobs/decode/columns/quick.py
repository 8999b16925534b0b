"""Quick: texts to values by Arrow's casts, of those texts alone whose form says that a cast gives
what the strict readers of text_column.py give. Those read the others, which may be as good.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spark_jobs.decode.columns.times import from_epoch
from spark_jobs.values.conversions import arrow_type
from spark_jobs.values.type_tree import Decimal

if TYPE_CHECKING:
    import pyarrow as pa

    from spark_jobs.spec import Field

DAY: Final = "[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}"
CLOCK: Final = r"T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
WHOLE: Final = "-?(0|[1-9][0-9]{0,17})"
NUMBER: Final = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?"
FORMS: Final = {
    **dict.fromkeys(("smallint", "int", "bigint"), WHOLE),
    **dict.fromkeys(("float", "double"), NUMBER),
    "boolean": "true|false",
    "timestamp": f"{DAY}{CLOCK}(Z|[+-](0[0-9]|1[0-3]):[0-5][0-9])",
    "timestamp_ntz": f"{DAY}{CLOCK}",
    "date": DAY,
}
"""Kind of type -> the texts that its cast may read."""
LARGEST_FLOAT: Final = 3.4028234663852886e38


def quick(texts: pa.Array, field: Field) -> pa.Array:
    """The values of a field that is no string, null where a text has not been read."""
    import pyarrow as pa  # noqa: PLC0415 - a process that only plans needs it not
    import pyarrow.compute as pc  # noqa: PLC0415 - as above

    kind, epoch = arrow_type(field.type), field.format in ("ms", "us", "ns")
    form = WHOLE if epoch else _form(field)
    if form is None:
        return pa.nulls(len(texts), kind)
    fits = pc.match_substring_regex(texts, f"^({form})$")
    read = pc.if_else(fits, texts, pa.scalar(None, pa.string()))
    try:
        if epoch:
            return from_epoch(read.cast(pa.int64()), str(field.format), field.type).array
        return _cast(read, kind)
    except pa.ArrowInvalid:  # one of them is no date, or no time of day
        return pa.nulls(len(texts), kind)


def _form(field: Field) -> str | None:
    if field.format not in (None, "text"):
        return None
    match field.tree:
        case Decimal(precision, scale):
            digits, fraction = precision - scale, rf"(\.[0-9]{{1,{scale}}})?" if scale else ""
            return f"-?(0|[1-9][0-9]{{0,{digits - 1}}}){fraction}" if digits else None
    return FORMS.get(field.kind)


def _cast(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    import pyarrow as pa  # noqa: PLC0415 - as above
    import pyarrow.compute as pc  # noqa: PLC0415 - as above

    if pa.types.is_integer(kind):
        wide = texts.cast(pa.int64())
        most = 2 ** (kind.bit_width - 1) - 1
        return _between(wide, -most - 1, most).cast(kind)
    if pa.types.is_floating(kind):
        wide = texts.cast(pa.float64())
        most = LARGEST_FLOAT if kind == pa.float32() else 1.7976931348623157e308
        return _between(wide, -most, most).cast(kind)
    if pa.types.is_boolean(kind):
        return pc.equal(texts, "true")
    return texts.cast(kind)


def _between(values: pa.Array, least: float, most: float) -> pa.Array:
    import pyarrow as pa  # noqa: PLC0415 - as above
    import pyarrow.compute as pc  # noqa: PLC0415 - as above

    ends = pc.min_max(values).as_py()
    if ends["min"] is None or (ends["min"] >= least and ends["max"] <= most):
        return values
    within = pc.and_(pc.greater_equal(values, least), pc.less_equal(values, most))
    return pc.if_else(within, values, pa.scalar(None, values.type))
