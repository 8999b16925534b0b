"""By element: the records that wait in ops.quarantine and are elements of values with many, each
with its own bytes. The first of a value's records has the value.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from spark_jobs.decode.formats import Records, elements_of
from spark_jobs.ops import ops_tables
from spark_jobs.source.place import Place, selected_sql

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spark_jobs.decode.formats import Elements
    from spark_jobs.ops.schema import Row
    from spark_jobs.spec import Topic
    from spark_jobs.storage.root.paths import Paths

MOST: Final = 4_000
"""Rows at a time,"""
MOST_BYTES: Final = 16_000_000
"""and bytes."""
WHY: Final = "why"
"""In a row: why its element is malformed, whatever its fields are."""
NOW_MANY: Final = (
    "its value was refused as a whole, and has {records} records by today's spec: a rebuild has "
    "them"
)
NO_SUCH: Final = "its value has fewer records by today's spec"


def parts(
    paths: Paths, topic: Topic, given: object, columns: str, waiting: str, kept: str
) -> Iterator[list[Row]]:
    """The rows, with `columns` and WHY, and an element's bytes as `value`. `given` is what the
    topic's format has prepared; `waiting` and `kept` are for FROM: those that wait, and all.
    """
    by = elements_of(topic, given)
    found, size = list[dict[str, Any]](), 0
    for values, rows in _by_value(paths, columns, waiting, kept):
        for row in _elements(by, values, rows):
            found.append(row)
            size += len(row["value"] or b"")
            if len(found) >= MOST or size >= MOST_BYTES:
                yield found
                found, size = [], 0
    if found:
        yield found


def _by_value(
    paths: Paths, columns: str, waiting: str, kept: str
) -> Iterator[tuple[Row | None, list[Row]]]:
    """Of each value the row with its bytes, if one has them, and those that wait."""
    rows = _sorted(paths, f"SELECT {selected_sql()}, {columns} FROM {waiting} ORDER BY 1, 2, 3")
    bytes_ = "key, value, headers"
    held = f"SELECT {selected_sql()}, {bytes_} FROM {kept} AND value IS NOT NULL ORDER BY 1, 2, 3"
    values = groupby(_sorted(paths, held), lambda row: Place.of_row(row).value)
    at, of_it = next(values, (None, iter(())))
    for place, some in groupby(rows, lambda row: Place.of_row(row).value):
        while at is not None and at < place:
            at, of_it = next(values, (None, iter(())))
        yield next(of_it, None) if at == place else None, [*some]


def _sorted(paths: Paths, sql: str) -> Iterator[Row]:
    for part in ops_tables.stream(paths.root, "quarantine", sql, "merged"):
        yield from part.to_pylist()


def _elements(by: Elements, value: Row | None, rows: Sequence[Row]) -> Iterator[Row]:
    record = Records.alone(value["value"], value["headers"]) if value else Records.alone(None)
    numbered = {each.number: each for [*of] in by.of(record) for each in of}
    of_value = {"key": value["key"], "headers": value["headers"]} if value else {}
    records = sum(number is not None and number >= 0 for number in numbered)
    for row in rows:
        number = Place.of_row(row).number
        one = numbered.get(number)
        if value is None and number is not None:  # its bytes were too many, or are gone
            yield row | {"value": None, "left_out": row["left_out"] or 0, WHY: None}
        elif one is None:
            why = NOW_MANY.format(records=records) if number is None else NO_SUCH
            yield row | {"value": None, WHY: why}
        else:
            yield row | of_value | {"value": one.value, WHY: one.why}
