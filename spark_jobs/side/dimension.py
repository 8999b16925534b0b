"""Dimension: as port.py has a table beside the stream. At most one row of a key at a time.

Its rows are read once, without Spark, and given to Spark: they are the same for all batches of a
query, whatever becomes of the table's files meanwhile.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from spark_jobs.errors import DimensionAmbiguous, DimensionUnfit
from spark_jobs.registry import find as registry
from spark_jobs.side.column_types import refuse_unfit, times
from spark_jobs.side.differing import at_time, by_key, differing
from spark_jobs.side.of_file import OfFile
from spark_jobs.side.place import Rooted, place_of
from spark_jobs.side.versions import OfTable, Versions
from spark_jobs.spec import Dimension
from spark_jobs.spec.analysis.columns import types_of
from spark_jobs.storage.pin import Changed, Pin
from spark_jobs.storage.root.store import opened
from spark_jobs.values.conversions import arrow_type, spark_type
from spark_jobs.values.own_columns import own
from spark_jobs.values.spans import EPOCH, MICROSECOND

if TYPE_CHECKING:
    from datetime import datetime

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


FROM: Final = own("valid_from")
"""The first event time at which a row is valid; null: since ever."""
TO: Final = own("valid_to")
"""The first at which it is no more; null: for ever."""


LOCAL: Final = "spark.sql.execution.arrow.localRelationThreshold"
"""Up to so many bytes Spark's plan has the rows themselves: its optimizer then filters and selects
them one by one, without compiled code, in each batch (ConvertToLocalRelation).
"""
KEPT: Final = "sides"
"""The folder of the root with the contents of files that batches have read."""


def key_column(number: int) -> str:
    """What the column of the key with this number is called."""
    return own(f"key_{number}")


class DimensionSide:
    """See Side. A row has the key's columns by `key_column`, FROM and TO where rows have times, and
    the declared fields. Rows with a null in the key, or never valid, are left out: nothing finds
    them.
    """

    def __init__(self, declared: Dimension, settings: Rooted) -> None:
        self._declared = declared
        self._place = place_of(declared, settings.root)
        self._versions: Versions = (
            OfFile(declared.name, Path(self._place), opened(settings.root) / KEPT)
            if declared.is_file
            else OfTable(declared.name, opened(self._place))
        )

    def now(self) -> Pin:
        """See Side. Raises DimensionUnfit, and DimensionAmbiguous."""
        pin = self._versions.now()
        self._refuse(self._read(pin), pin)
        return pin

    def has(self, pin: Pin) -> bool:
        return self._versions.has(pin)

    def keep(self, pin: Pin) -> None:
        self._versions.keep(pin)

    def rows(self, spark: SparkSession, pin: Pin) -> DataFrame:
        from pyspark.sql.types import StructType  # noqa: PLC0415 - only Spark's side has it

        of = self._declared
        types = {key_column(n): each.type for n, each in enumerate(of.keys)}
        types |= dict.fromkeys((FROM, TO) if of.valid else (), "timestamp")
        types |= {each.name: each.type for each in of.fields}
        schema = StructType()
        for name, kind in types.items():
            schema = schema.add(name, spark_type(kind))
        rows = self._read(pin)
        if not rows.num_rows:  # PySpark makes an array without a type of it
            return spark.createDataFrame([], schema)
        spark.conf.set(LOCAL, "0")
        try:
            return spark.createDataFrame(rows, schema)
        finally:
            spark.conf.unset(LOCAL)

    def finder(self, pin: Pin) -> Callable[[tuple[Any, ...], datetime], bool]:
        """Whether a version has a row of a key at a time; it is read once."""
        known = by_key(self._read(pin), len(self._declared.keys))

        def finds(key: tuple[Any, ...], time: datetime) -> bool:
            return (
                None not in key
                and at_time(known.get(key, ()), (time - EPOCH) // MICROSECOND) is not None
            )

        return finds

    def changed(self, spark: SparkSession, since: Pin, until: Pin) -> Iterator[Changed]:  # noqa: ARG002 - the port's
        """See Side: each interval of a key in which a field differs, or a row is or was none. Of
        versions that are there no more, or had other columns, nobody knows: all may differ.
        """
        if since == until:
            return
        try:
            was = self._read(since) if self.has(since) else None
        except DimensionUnfit:  # it had not yet the columns that are declared today
            was = None
        if was is None:
            yield Changed(None, None, None)
            return
        keys = [each.name for each in self._declared.keys]
        for key, start, end in differing(was, self._read(until), len(keys)):
            named = dict(zip(keys, key, strict=True))
            yield Changed(json.dumps(named, default=str), start, end)

    def refuse_misdeclared(self) -> None:
        """See Side. Of a pipeline that has published nothing yet, its spec says what it will."""
        try:
            self.now()
        except DimensionUnfit as error:
            if error.reason != "absent" or not self._declared.pipeline:
                raise
            spec = registry.load(self._declared.pipeline)
            types = types_of(spec)
            if types is None:
                return
            has = {name: arrow_type(kind) for name, kind in types.items()}
            refuse_unfit(self._declared.name, self._place, has, self._declared.columns)

    def _read(self, pin: Pin) -> pa.Table:
        import pyarrow as pa  # noqa: PLC0415 - what only plans reads no table
        import pyarrow.compute as pc  # noqa: PLC0415 - as above

        of, rows = self._declared, self._versions.read(pin, self._declared.columns)
        columns = {key_column(n): rows.column(of.column_of(k)) for n, k in enumerate(of.keys)}
        if of.valid:
            both = zip((FROM, TO), of.valid, strict=True)
            columns |= {name: times(rows.column(each)) for name, each in both}
        columns |= {each.name: rows.column(of.column_of(each)) for each in of.fields}
        found = pa.table(columns)
        for number in range(len(of.keys)):
            found = found.filter(pc.is_valid(found.column(key_column(number))))
        if of.valid:
            ever = pc.less(found.column(FROM), found.column(TO))
            found = found.filter(pc.fill_null(ever, fill_value=True))
        return found

    def _refuse(self, rows: pa.Table, pin: Pin) -> None:
        of, place = self._declared, self._place
        import pyarrow.compute as pc  # noqa: PLC0415 - as above

        for each in of.fields:
            if each.required and (nulls := rows.column(each.name).null_count):
                first = rows.filter(pc.is_null(rows.column(each.name))).slice(0, 1).to_pylist()[0]
                raise DimensionUnfit.null(
                    name=of.name, column=of.column_of(each), place=place, rows=nulls,
                    key=_told(self._key_of(first)),
                )  # fmt: skip
        if found := several(rows, len(of.keys)):
            keys = list(dict.fromkeys(_told(self._key_of(row)) for row in found))
            first = [row for row in found if _told(self._key_of(row)) == keys[0]]
            raise DimensionAmbiguous.several(
                name=of.name, version=pin.version, place=place, keys="; ".join(keys),
                rows="; ".join(_told(self._rest_of(row)) for row in first),
            )  # fmt: skip

    def _key_of(self, row: dict[str, Any]) -> dict[str, Any]:
        return {each.name: row[key_column(n)] for n, each in enumerate(self._declared.keys)}

    def _rest_of(self, row: dict[str, Any]) -> dict[str, Any]:
        of = self._declared
        found = {each.name: row[each.name] for each in of.fields}
        if of.valid:
            found |= dict(zip(of.valid, (row[FROM], row[TO]), strict=True))
        return found


def _told(row: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in row.items())


MOST_TOLD: Final = 6
"""Rows of keys that have several at a time."""


def several(rows: pa.Table, keys: int) -> list[dict[str, Any]]:
    """Some rows of keys that have others at the same time; nothing if there are none.

    `rows` as a side has them: the first `keys` columns are the key; behind them are the two times,
    if rows have times.
    """
    import pyarrow as pa  # noqa: PLC0415 - what only plans reads no table
    import pyarrow.compute as pc  # noqa: PLC0415 - as above

    names = rows.column_names[:keys]
    order = [(name, "ascending") for name in names]
    beside, timed = rows, FROM in rows.column_names
    if timed:  # null begins before all, and ends behind all
        for column, never in ((FROM, -(2**63)), (TO, 2**63 - 1)):
            number = pc.fill_null(rows.column(column).cast(pa.int64()), never)
            beside = beside.set_column(rows.column_names.index(column), column, number)
        order.append((FROM, "ascending"))
    at = pc.sort_indices(beside, sort_keys=order)
    ordered = beside.take(at)
    before, after = ordered.slice(0, max(0, rows.num_rows - 1)), ordered.slice(1)
    same = pc.equal(before.column(names[0]), after.column(names[0]))
    for name in names[1:]:
        same = pc.and_(same, pc.equal(before.column(name), after.column(name)))
    if timed:
        same = pc.and_(same, pc.greater(before.column(TO), after.column(FROM)))
    found = pc.indices_nonzero(same).slice(0, MOST_TOLD // 2).to_pylist()
    places = sorted({each for first in found for each in (first, first + 1)})
    told: list[dict[str, Any]] = rows.take(at.take(pa.array(places, pa.int64()))).to_pylist()
    return told
