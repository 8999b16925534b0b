"""JSON decoder: decodes the bytes of a record to typed values, or gives the reason why it cannot.

Pure Python; never raises.

msgspec decodes strictly: one JSON object and nothing after it, exact types, numbers in range, times
with a zone. Undeclared keys are ignored. If a key occurs twice, the last value is used. The whole
value must be UTF-8.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC
from typing import Any

import msgspec

from spark_jobs.contract.field_types import Value
from spark_jobs.contract.topic import Topic
from spark_jobs.type_conversions import json_type

Values = tuple[Value | None, ...]
"""The values of one record, or of one column."""
REFUSED = (msgspec.DecodeError, ValueError, RecursionError, OverflowError)
"""What decoding raises for a malformed record."""
EMPTY, TOMBSTONE = "the value is empty", "tombstone: the value is null"


class JsonDecoder:
    """Decodes the records of one topic."""

    def __init__(self, topic: Topic) -> None:
        self._names = topic.columns
        self._times = [
            index for index, field in enumerate(topic.fields) if field.type == "timestamp"
        ]
        self._optional = [index for index, field in enumerate(topic.fields) if not field.required]
        self._nulls: Values = (None,) * len(self._names)
        fields = [
            (f.name, json_type(f.type)) if f.required else (f.name, json_type(f.type) | None, None)
            for f in topic.fields
        ]
        # gc=False: a record has no reference cycles, and the garbage collector would traverse
        # millions of records.
        self._decoder = msgspec.json.Decoder(
            msgspec.defstruct("Record", fields, kw_only=True, gc=False)
        )

    def columns(self, values: Sequence[bytes | None]) -> tuple[list[Values], list[str | None]]:
        """The decoded columns in the topic's order, and for each record the reason why it is
        malformed, or None.
        """
        rows, reasons = self._decoded(values)
        columns = self._transposed(rows)
        changed = False
        for index in self._lacking(columns):
            value = values[index]
            if value and reasons[index] is None and (reason := self._wrong_case(value)):
                rows[index], reasons[index], changed = self._nulls, reason, True
        for index in self._zoned(columns):
            if reasons[index] is None:
                (rows[index], reasons[index]), changed = self._in_utc(rows[index]), True
        return (self._transposed(rows) if changed else columns), reasons

    def row(self, value: bytes | None) -> tuple[Values, str | None]:
        """A record's values and None; or nulls and the reason why it is malformed."""
        if not value:
            return self._nulls, EMPTY if value is not None else TOMBSTONE
        try:
            if not value.isascii():
                value.decode()  # msgspec checks the encoding of declared fields only
            row = msgspec.structs.astuple(self._decoder.decode(value))
        except REFUSED as error:
            return self._nulls, self._reason(value, error)
        # A key in the wrong case looks like a missing optional field, so only records that lack one
        # are checked again.
        if any(row[index] is None for index in self._optional) and (
            reason := self._wrong_case(value)
        ):
            return self._nulls, reason
        if any(row[index] is not None and row[index].tzinfo is not UTC for index in self._times):
            return self._in_utc(row)
        return row, None

    def _decoded(
        self, values: Sequence[bytes | None]
    ) -> tuple[list[tuple[Any, ...]], list[str | None]]:  # Any: mypy does not know the types
        """As `row` begins, for many: a call and two checks for each would be half of the time."""
        decode, astuple, nulls = self._decoder.decode, msgspec.structs.astuple, self._nulls
        rows: list[tuple[Any, ...]] = []
        reasons: list[str | None] = []
        for value in values:
            row, reason = nulls, None
            if value:
                try:
                    if not value.isascii():
                        value.decode()
                    row = astuple(decode(value))
                except REFUSED as error:
                    reason = self._reason(value, error)
            else:
                reason = EMPTY if value is not None else TOMBSTONE
            rows.append(row)
            reasons.append(reason)
        return rows, reasons

    def _lacking(self, columns: list[tuple[Any, ...]]) -> set[int]:
        """The records that lack an optional field."""
        return {
            index
            for number in self._optional
            if None in columns[number]
            for index, value in enumerate(columns[number])
            if value is None
        }

    def _zoned(self, columns: list[tuple[Any, ...]]) -> set[int]:
        """The records with a time in another zone than UTC."""
        return {
            index
            for number in self._times
            for index, at in enumerate(columns[number])
            if at is not None and at.tzinfo is not UTC
        }

    def _transposed(self, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        return list(zip(*rows, strict=True)) or [()] * len(self._names)

    def _in_utc(self, row: tuple[Any, ...]) -> tuple[Values, str | None]:
        try:
            return tuple(
                v.astimezone(UTC) if i in self._times and v is not None else v
                for i, v in enumerate(row)
            ), None
        except OverflowError:
            return self._nulls, "a time is outside the years 1 to 9999 in UTC"

    def _reason(self, value: bytes, error: Exception) -> str:
        if isinstance(error, msgspec.ValidationError):
            return self._wrong_case(value) or str(error)
        return "nested too deeply" if isinstance(error, RecursionError) else f"not JSON: {error}"

    def _wrong_case(self, value: bytes) -> str | None:
        try:
            record = json.loads(value)
        except (ValueError, RecursionError):
            return None
        keys = record if isinstance(record, dict) else {}
        lower = {name.lower(): name for name in self._names}
        wrong = [
            key
            for key in keys
            if key not in self._names and key.lower() in lower and lower[key.lower()] not in keys
        ]
        return (
            f"key {wrong[0]!r} is in the wrong case: the field is {lower[wrong[0].lower()]!r}"
            if wrong
            else None
        )
