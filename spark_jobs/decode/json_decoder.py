"""JSON decoder: decodes the bytes of a record to typed values, or gives the reason why it cannot.

Pure Python; never raises.

msgspec decodes strictly: one JSON object and nothing after it, exact types, numbers in range, times
with a zone. Undeclared keys are ignored. If a key occurs twice, the last value is used. The whole
value must be UTF-8. Of a second six digits count (long_fractions.py).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec

from spark_jobs.decode.formats import EMPTY, TOMBSTONE, Decoded, Records
from spark_jobs.decode.long_fractions import LongFractions, may_have
from spark_jobs.values.conversions import arrow_array, json_type
from spark_jobs.values.field_types import Value

if TYPE_CHECKING:
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Field, Topic
    from spark_jobs.spec.format import Json
    from spark_jobs.spec.place import Place

Values = tuple[Value | None, ...]
"""The values of one record."""
REFUSED = (msgspec.DecodeError, ValueError, RecursionError, OverflowError)
"""What decoding raises for a malformed record."""


class JsonDecoder:
    """Decodes the records of one topic, and makes columns of the `wanted` fields.

    Every field is decoded, also one that nobody wants: a wrong value in it makes the record
    malformed.
    """

    def __init__(
        self,
        format_: Json,  # noqa: ARG002 - as the port has it
        places: Sequence[Place],
        wanted: Sequence[str],
        given: object = None,  # noqa: ARG002 - as the port has it
    ) -> None:
        fields = [place.field for place in places]
        self._names = tuple(field.name for field in fields)
        types = {field.name: field.type for field in fields}
        self._types = [types[name] for name in wanted]
        self._wanted = [attrgetter(name) for name in wanted]
        self._times = [field.name for field in fields if field.type == "timestamp"]
        self._optional = [field.name for field in fields if not field.required]
        record = _record(fields, json_type)
        self._nulls = record(**dict.fromkeys(self._names))
        self._decoder = msgspec.json.Decoder(record)
        as_text = _record(fields, lambda kind: str if kind == "timestamp" else json_type(kind))
        self._long = LongFractions(as_text, self._times, self._decoder.decode)

    @staticmethod
    def prepare(format_: Json, topic: Topic, root: str, settings: Settings | None) -> None:
        """Nothing."""

    def decode(self, records: Records) -> Decoded:
        """As the port has it."""
        columns, reasons = self.columns(records.values.to_pylist())
        arrays = [
            arrow_array(column, kind) for column, kind in zip(columns, self._types, strict=True)
        ]
        return Decoded(arrays, reasons)

    def columns(
        self, values: Sequence[bytes | None]
    ) -> tuple[list[list[Value | None]], list[str | None]]:
        """The wanted columns in their order, and for each record the reason why it is malformed, or
        None.
        """
        records, reasons = self._decoded(values)
        for index in self._doubtful(records):
            value = values[index]
            if value and reasons[index] is None:
                records[index], reasons[index] = self._judged(value, records[index])
        return [list(map(column, records)) for column in self._wanted], reasons

    def row(self, value: bytes | None) -> tuple[Values, str | None]:
        """A record's values in the topic's order and None; or nulls and the reason why it is
        malformed.
        """
        record, reason = self._nulls, None
        try:
            if value:
                record, reason = self._judged(value, self._strict(value))
            else:
                reason = self._missing(value)
        except REFUSED as error:
            reason = self._reason(value or b"", error)
        return msgspec.structs.astuple(record), reason

    def _decoded(self, values: Sequence[bytes | None]) -> tuple[list[Any], list[str | None]]:
        """As `row` begins, for many. No Python of ours runs for a good record, where all are ASCII
        and no second has more than six digits: it would be half of the time.
        """
        given = [value or b"" for value in values]
        together = b"".join(given)
        plain = together.isascii() and not may_have(together)
        decode: Callable[[bytes], Any] = self._decoder.decode if plain else self._strict
        records: list[Any] = []  # Any: mypy does not know the class
        reasons: list[str | None] = [None] * len(values)
        rest = iter(given)
        while len(records) < len(values):
            try:
                for record in map(decode, rest):
                    records.append(record)  # noqa: PERF402 - those before a bad one must stay
            except REFUSED as error:  # `rest` is behind the bad one
                value = values[len(records)]
                reason = self._reason(value, error) if value else self._missing(value)
                reasons[len(records)] = reason
                records.append(self._nulls)
        return records, reasons

    def _strict(self, value: bytes) -> Any:
        if not value.isascii():
            value.decode()  # msgspec checks the encoding of declared fields only
        return self._long.decode(value) if may_have(value) else self._decoder.decode(value)

    def _doubtful(self, records: list[Any]) -> list[int]:
        """The records that lack an optional field, or have a time in another zone than UTC; maybe
        malformed ones too.
        """
        found = set[int]()
        for name in self._optional:
            column = list(map(attrgetter(name), records))
            if None in column:
                found.update(index for index, value in enumerate(column) if value is None)
        for name in self._times:
            found.update(
                [
                    index
                    for index, at in enumerate(map(attrgetter(name), records))
                    if at is not None and at.tzinfo is not UTC
                ]
            )
        return sorted(found)

    def _judged(self, value: bytes, record: Any) -> tuple[Any, str | None]:
        """A decoded record and None; or nulls and the reason why it is malformed after all."""
        # A key in the wrong case looks like a missing optional field, so only records that lack one
        # are checked again.
        lacking = [name for name in self._optional if getattr(record, name) is None]
        if lacking and _odd_case(value, lacking) and (reason := self._wrong_case(value)):
            return self._nulls, reason
        times = {name: getattr(record, name) for name in self._times}
        zoned = {name: at for name, at in times.items() if at is not None and at.tzinfo is not UTC}
        if not zoned:
            return record, None
        try:
            in_utc = {name: at.astimezone(UTC) for name, at in zoned.items()}
        except OverflowError:
            return self._nulls, "a time is outside the years 1 to 9999 in UTC"
        return msgspec.structs.replace(record, **in_utc), None

    def _missing(self, value: bytes | None) -> str:
        return EMPTY if value is not None else TOMBSTONE

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


def _record(declared: Iterable[Field], type_of: Callable[[str], Any]) -> Any:
    """The class of a record. Any: mypy does not know it, and Python has no type for annotations."""
    fields = [
        (f.name, type_of(f.type)) if f.required else (f.name, type_of(f.type) | None, None)
        for f in declared
    ]
    # gc=False: a record has no reference cycles, and the garbage collector would traverse millions
    # of records.
    return msgspec.defstruct("Record", fields, kw_only=True, gc=False)


def _odd_case(value: bytes, names: Iterable[str]) -> bool:
    """Whether one of these names may be a key of the value in another case. To parse it in order to
    know costs as much as ten records.
    """
    if b"\\" in value or not value.isascii():
        return True  # a letter may be written as \u0041, and K in lower case may be the Kelvin sign
    lower = value.lower()
    quoted = (f'"{name}"'.encode() for name in names)
    return any(lower.count(name) != value.count(name) for name in quoted)
