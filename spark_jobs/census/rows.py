"""Rows: which rows of a Parquet file have what is looked for: records are decoded, columns asked by
the fields that they carry.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple
from unicodedata import normalize

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.decode import alone
from spark_jobs.decode.formats import Records, taken_apart
from spark_jobs.decode.record_decoder import Prepared
from spark_jobs.spec.sql import names_in
from spark_jobs.table.delta.rows_where import rows_where
from spark_jobs.values.conversions import arrow_type

if TYPE_CHECKING:
    from spark_jobs.spec import Topic

RECORD = {"partition", "offset", "key", "value", "kafka_timestamp"}
"""The columns of a table that has records as Kafka had them."""
Told = tuple[int, tuple[Any, ...]]
"""A row's number, and the values of the fields that stand in the condition."""
Carried = Mapping[str, tuple[str, ...]]
"""Field -> the columns of a table that have its value as it was."""


class Condition(NamedTuple):
    """A condition over the decoded fields of a topic."""

    sql: str
    prepared: Prepared

    @property
    def topic(self) -> Topic:
        """Whose fields."""
        return self.prepared.topic

    @property
    def names(self) -> tuple[str, ...]:
        """The fields that stand in it."""
        found = names_in(self.sql)
        return tuple(name for name in self.topic.columns if name in found)

    @property
    def types(self) -> dict[str, pa.DataType]:
        """Of these fields."""
        fields = {field.name: field.type for field in self.topic.fields}
        return {name: arrow_type(fields[name]) for name in self.names}

    def check(self) -> None:
        """Raise ValueError unless it is a condition over fields of the topic."""
        if not self.names:
            raise ValueError(f"it names no field; there are {', '.join(self.topic.columns)}")
        rows_where(pa.schema(self.types.items()).empty_table(), self.sql)

    def of_columns(self, rows: pa.Table, carried: Carried) -> Iterator[Told]:
        """Number and values of each row that it holds for. A table with several columns of one
        field is asked by each. Nothing where a field has no column.
        """
        columns = [[n for n in carried[name] if n in rows.column_names] for name in self.names]
        if not all(columns):
            return
        for turn in range(max(map(len, columns))):
            chosen = [own[min(turn, len(own) - 1)] for own in columns]
            asked = {
                name: rows[column].cast(self.types[name])
                for name, column in zip(self.names, chosen, strict=True)
            }
            yield from self._of(pa.table(asked))

    def of_records(self, rows: pa.Table) -> Iterator[Told]:
        """Likewise of records as Kafka had them, and () for a good one that it does not hold for.
        Of a malformed one each field counts by itself.
        """
        wanted = [*self.prepared.topic.columns]
        own = rows.select([name for name in rows.column_names if name in {*RECORD, "headers"}])
        given = Records.of_rows(own.to_pylist())
        taken = taken_apart(given, self.topic, self.prepared.given[0])
        told, at = dict[int, tuple[Any, ...]](), 0
        for decoded in self.prepared.decoder().parts(taken.records):
            count = len(decoded.reasons)
            parents = taken.parents[at : at + count]
            found = dict(zip(wanted, decoded.columns, strict=True))
            bad = [n for n, why in enumerate(decoded.reasons) if why is not None]
            holds = dict[int, tuple[Any, ...]].fromkeys(range(count), ())
            holds |= self._of(pa.table({name: found[name] for name in self.names}))
            for n in bad:
                del holds[n]
            if bad:
                parts = [self._alone(taken.records.at([at + n])) for n in bad]
                holds |= {bad[n]: values for n, values in self._of(pa.concat_tables(parts))}
            for n, values in sorted(holds.items()):
                told[parents[n]] = told.get(parents[n]) or values
            at += count
        yield from sorted(told.items(), key=itemgetter(0))

    def _alone(self, record: Records) -> pa.Table:
        """What can be read of one record."""
        places = [place for place in self.topic.value_places if place.field.name in self.names]
        found = dict[str, pa.Array]()
        if record.values.null_count == 0:
            read = alone.of_value(self.topic, self.prepared.given[0], record, places)
            found = {field.name: column for field, column, why in read if why is None}
        nothing = {name: pa.nulls(1, kind) for name, kind in self.types.items()}
        return pa.table({name: found.get(name, nothing[name]) for name in self.names})

    def _of(self, asked: pa.Table) -> Iterator[Told]:
        """Those for which it holds as it is, or with all texts in one normal form of Unicode."""
        found, sql = {*rows_where(asked, self.sql)}, normalize("NFC", self.sql)
        columns = [
            pc.utf8_normalize(column, "NFC") if pa.types.is_string(column.type) else column
            for column in asked.columns
        ]
        normal = pa.table(columns, asked.column_names)
        if sql != self.sql or not normal.equals(asked):
            found.update(rows_where(normal, sql))
        for number in sorted(found):
            yield number, tuple(asked[name][number].as_py() for name in self.names)
