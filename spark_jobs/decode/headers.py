"""Headers: the fields that are in the headers of records. Of several headers of a name the last one
counts, as in Kafka's own clients.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from spark_jobs.decode.columns.text_column import text_column
from spark_jobs.decode.text_decoder import decoded_texts
from spark_jobs.values.conversions import arrow_array

if TYPE_CHECKING:
    import pyarrow as pa

    from spark_jobs.decode.formats import Records
    from spark_jobs.spec import Field


def header_columns(
    records: Records, wanted: Mapping[str, Field]
) -> tuple[dict[str, pa.Array], dict[int, str]]:
    """Name of the field -> its column, and what is wrong: number of the record -> why."""
    given: list[Any] = (
        [None] * len(records.values) if records.headers is None else records.headers.to_pylist()
    )
    each = [{one["key"]: one["value"] for one in headers or ()} for headers in given]
    columns: dict[str, pa.Array] = {}
    wrong = dict[int, str]()
    for name, field in wanted.items():
        values = [headers.get(name) for headers in each]
        if field.type == "binary":
            columns[field.name] = arrow_array(values, "binary")
            continue
        texts, reasons = decoded_texts(values)
        column = text_column(texts, field)
        columns[field.name] = column.array
        said = {n: why for n, why in enumerate(reasons) if why and values[n] is not None}
        for index, why in (said | column.wrong).items():
            wrong.setdefault(index, f"header `{name}` {why}")
    return columns, wrong
