"""Of a file: its content is its only version. A line of JSON is a row, or one of a CSV with a
header; Parquet has columns.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from spark_jobs.errors import DimensionUnfit, SluiceError
from spark_jobs.side.column_types import Declared, lacks, refuse_unfit, typed
from spark_jobs.side.port import Pin
from spark_jobs.storage.root.store import opened
from spark_jobs.table.delta.answer import parquet_file
from spark_jobs.values.conversions import arrow_array
from spark_jobs.values.field_types import field_type

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

Line = tuple[int, dict[str, Any]]
"""Its number, and column -> what stands there."""
Lines = Sequence[Line]


class OfFile(NamedTuple):
    """Of a file. Its content names its version, so each one is of another table."""

    name: str
    path: Path

    def now(self) -> Pin:
        """See Versions."""
        try:
            return Pin(table_id=hashlib.sha256(self.path.read_bytes()).hexdigest(), version=0)
        except FileNotFoundError:
            raise DimensionUnfit.absent(name=self.name, place=self.path) from None
        except OSError as error:
            raise self._unreadable(error.strerror or error) from None

    def has(self, pin: Pin) -> bool:
        """See Versions: an earlier content is nowhere."""
        try:
            return self.now() == pin
        except DimensionUnfit:
            return False

    def read(self, pin: Pin, declared: Declared) -> pa.Table:  # noqa: ARG002 - it has but one
        """See Versions."""
        if self.path.suffix == ".parquet":
            return self._of_parquet(declared)
        try:
            there, lines = self._csv() if self.path.suffix == ".csv" else self._json()
        except (ValueError, TypeError, csv.Error) as error:  # no UTF-8 is one too
            raise self._unreadable(error) from None
        return self._of_lines(there or [*declared], lines, declared)

    def _of_parquet(self, declared: Declared) -> pa.Table:
        try:
            with parquet_file(opened(str(self.path))) as file:
                has = {each.name: each.type for each in file.schema_arrow}
                refuse_unfit(self.name, self.path, has, declared)
                return typed(file.read(columns=[*declared]), declared)
        except DimensionUnfit:
            raise
        except SluiceError as error:
            raise self._unreadable(error.what) from None

    def _csv(self) -> tuple[Collection[str], Lines]:
        """The columns, and the lines; null where there is no text."""
        with self.path.open(encoding="utf-8-sig", newline="") as file:
            rows, found = csv.DictReader(file, strict=True), list[Line]()
            for row in rows:
                if None in row or None in row.values():
                    raise ValueError(f"line {rows.line_num} has another number of values")
                found.append((rows.line_num, {name: row[name] or None for name in row}))
            if not rows.fieldnames:
                raise ValueError("it has no line with the columns' names")
            return rows.fieldnames, found

    def _json(self) -> tuple[Collection[str], Lines]:
        found = list[Line]()
        with self.path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                row = json.loads(line) if line.strip() else {}
                if not isinstance(row, dict):
                    raise TypeError(f"line {number} is no object")
                if row:
                    found.append((number, row))
        return {name: None for _, row in found for name in row}, found

    def _of_lines(self, there: Collection[str], lines: Lines, declared: Declared) -> pa.Table:
        import pyarrow as pa  # noqa: PLC0415 - as above

        columns = dict[str, Any]()
        for name, kind in declared.items():
            if name not in there:
                raise lacks(self.name, self.path, name, there)
            of = kind or "timestamp"
            values = [self._value(number, name, row.get(name), of) for number, row in lines]
            columns[name] = arrow_array(values, of)
        return pa.table(columns)

    def _value(self, line: int, column: str, given: Any, kind: str) -> Any:
        try:
            return _parsed(given, kind)
        except (ValueError, TypeError, ArithmeticError):
            known = field_type(kind)
            raise DimensionUnfit.no_value(
                name=self.name, line=line, place=self.path, given=str(given)[:100], column=column,
                declared=kind, example=known.example if known else "JSON",
            ) from None  # fmt: skip

    def _unreadable(self, error: object) -> DimensionUnfit:
        return DimensionUnfit.unreadable(name=self.name, place=self.path, error=error)


def _parsed(given: Any, kind: str) -> Any:
    """A value, of what stands in a file. Raises ValueError, TypeError or ArithmeticError.

    >>> _parsed(12, "bigint"), _parsed("12", "bigint"), _parsed([1], "array<int>")
    (12, 12, [1])
    """
    known, parted = field_type(kind), isinstance(given, list | dict)
    if given is None or (known is None and parted):
        return given
    if known is None or parted or (kind == "string" and not isinstance(given, str)):
        raise TypeError(given)
    return known.parse(given if isinstance(given, str) else json.dumps(given))
