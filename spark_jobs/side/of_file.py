"""Of a file: its content is its version, and what batches have read is kept in the root. A line of
JSON is a row, or one of a CSV with a header; Parquet has columns.
"""

from __future__ import annotations

import csv
import hashlib
import json
import time
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spark_jobs.errors import DimensionUnfit, SluiceError
from spark_jobs.side.column_types import Declared, lacks, refuse_unfit, typed
from spark_jobs.side.versions import MOST_OF_A_FILE
from spark_jobs.storage.pin import Pin
from spark_jobs.storage.root.files import replacing
from spark_jobs.storage.root.store import is_remote, opened
from spark_jobs.table.arrow_rows import parquet_file
from spark_jobs.values import type_tree
from spark_jobs.values.conversions import arrow_array
from spark_jobs.values.field_types import field_type

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from upath import UPath

Line = tuple[int, dict[str, Any]]
"""Its number, and column -> what stands there."""
Lines = Sequence[Line]
A_DAY: Final = 86_400.0
"""Seconds."""


class OfFile(NamedTuple):
    """Of a file. Its content names its version, so each one is of another table."""

    name: str
    path: Path | UPath
    kept: UPath
    """The folder of contents that batches have read, each called by its digest."""

    def now(self) -> Pin:
        try:
            if self.path.stat().st_size > MOST_OF_A_FILE:
                raise DimensionUnfit.too_large(name=self.name, place=self.path, most=MOST_OF_A_FILE)
            return Pin(table_id=hashlib.sha256(self.path.read_bytes()).hexdigest(), version=0)
        except FileNotFoundError:
            raise DimensionUnfit.absent(name=self.name, place=self.path) from None
        except OSError as error:
            raise self._unreadable(error.strerror or error) from None

    def has(self, pin: Pin) -> bool:
        """See Versions: an earlier content is there if a batch has read it."""
        return self._is(pin) or self._copy(pin).exists()

    def keep(self, pin: Pin) -> None:
        copy = self._copy(pin)
        there = copy.exists()
        if there and time.time() - copy.stat().st_mtime < A_DAY:
            return
        content = (copy if there else self.path).read_bytes()  # again: it is kept as of today
        if not there and hashlib.sha256(content).hexdigest() != pin.table_id:
            raise DimensionUnfit.replaced(name=self.name, place=self.path)
        if is_remote(str(copy)):
            copy.write_bytes(content)
            return
        copy.parent.mkdir(parents=True, exist_ok=True)
        with replacing(copy, several=True) as unfinished:
            unfinished.write_bytes(content)

    def _is(self, pin: Pin) -> bool:
        try:
            return self.now() == pin
        except DimensionUnfit:
            return False

    def _copy(self, pin: Pin) -> UPath:
        return self.kept / f"{pin.table_id}{self.path.suffix}"

    def read(self, pin: Pin, declared: Declared) -> pa.Table:
        """See Versions. What is read is of the pin only if the file has its content still."""
        if not self._is(pin) and self._copy(pin).exists():
            return self._replace(path=self._copy(pin)).rows(declared)
        rows = self.rows(declared)
        if self.now() != pin:
            raise DimensionUnfit.replaced(name=self.name, place=self.path)
        return rows

    def rows(self, declared: Declared) -> pa.Table:
        """Its rows, whatever its version is."""
        if self.path.suffix == ".parquet":
            return self._of_parquet(declared)
        try:
            there, lines = self._csv() if self.path.suffix == ".csv" else self._json()
        except (ValueError, TypeError, csv.Error, OSError) as error:  # no UTF-8 is one too
            raise self._unreadable(error) from None
        return self._of_lines(there or [*declared], lines, declared)

    def _of_parquet(self, declared: Declared) -> pa.Table:
        try:
            with parquet_file(opened(str(self.path))) as file:
                _refuse_twice(file.schema_arrow.names)
                has = {each.name: each.type for each in file.schema_arrow}
                refuse_unfit(self.name, self.path, has, declared)
                return typed(file.read(columns=[*declared]), declared)
        except DimensionUnfit:
            raise
        except SluiceError as error:
            raise self._unreadable(error.what) from None
        except (OSError, ValueError) as error:
            raise self._unreadable(error) from None

    def _csv(self) -> tuple[Collection[str], Lines]:
        """The columns, and the lines; null where there is no text."""
        with self.path.open(encoding="utf-8-sig", newline="") as file:
            rows, found = csv.DictReader(file, strict=True), list[Line]()
            _refuse_twice(rows.fieldnames or ())
            for row in rows:
                if None in row or None in row.values():
                    raise ValueError(f"line {rows.line_num} has another number of values")
                found.append((rows.line_num, {name: row[name] or None for name in row}))
            if not rows.fieldnames:
                raise ValueError("it has no line with the columns' names")
            return rows.fieldnames, found

    def _json(self) -> tuple[Collection[str], Lines]:
        found = list[Line]()
        with self.path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                row = _LINE.decode(line) if line.strip() else {}
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
            return _parsed(given, type_tree.parsed(kind))
        except (ValueError, TypeError, ArithmeticError):
            known = field_type(kind)
            raise DimensionUnfit.no_value(
                name=self.name, line=line, place=self.path, given=str(given)[:100], column=column,
                declared=kind, example=known.example if known else "JSON",
            ) from None  # fmt: skip

    def _unreadable(self, error: object) -> DimensionUnfit:
        return DimensionUnfit.unreadable(name=self.name, place=self.path, error=error)


def _refuse_twice(names: Iterable[str]) -> None:
    """Raise ValueError for a name that is there twice: nobody knows which is meant."""
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise ValueError(f"{twice[0]!r} is there twice")


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    _refuse_twice(name for name, _ in members)
    return dict(members)


_LINE: Final = json.JSONDecoder(object_pairs_hook=_object, parse_float=Decimal)
"""A decimal has all its digits."""


def _parsed(given: Any, tree: type_tree.Type) -> Any:
    """A value, of what stands in a file. Raises ValueError, TypeError or ArithmeticError.

    >>> of = type_tree.parsed
    >>> _parsed(12, of("bigint")), _parsed("12", of("bigint")), _parsed(["1"], of("array<int>"))
    (12, 12, [1])
    """
    match tree, given:
        case _, None:
            return None
        case type_tree.Array(of), list():
            return [_parsed(each, of) for each in given]
        case type_tree.Map(of), dict():
            return {_text(name): _parsed(each, of) for name, each in given.items()}
        case type_tree.Struct(members), dict():
            return {name: _parsed(given.get(name), of) for name, of in members}
    known = field_type(type_tree.as_text(tree))
    if known is None or isinstance(given, list | dict):
        raise TypeError(given)
    if tree == type_tree.Scalar("string") or isinstance(given, str):
        return known.parse(_text(given))
    return known.parse(f"{given:f}" if isinstance(given, Decimal) else json.dumps(given))


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise TypeError(given)
    given.encode()  # half a surrogate pair is no text
    return given
