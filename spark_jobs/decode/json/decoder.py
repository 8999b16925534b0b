"""JSON decoder: decodes the bytes of a record to typed values, or gives the reason why it cannot.

Never raises.

msgspec decodes strictly: one JSON object and nothing after it, exact types, numbers in range, times
with a zone. Undeclared keys are ignored. If a key occurs twice, the last value is used. The whole
value must be UTF-8. Of a second six digits count (tree.py).
"""

from __future__ import annotations

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC
from typing import TYPE_CHECKING, Any, Final

import msgspec

from spark_jobs.decode.formats import EMPTY, REFUSED, TOMBSTONE, Decoded, Records
from spark_jobs.decode.json.connect import Schemas, spliced
from spark_jobs.decode.json.leaf import lacks_member, leaf
from spark_jobs.decode.json.tree import LongFractions, Node, may_have
from spark_jobs.decode.json.unnamed import Names, odd_case
from spark_jobs.decode.json.way import (
    Way,
    is_sure,
    paths_of,
    read_otherwise,
    values_of,
    way_of,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Json, Topic
    from spark_jobs.spec.fields.place import Place

MARKS: Final = (BOM_UTF8, BOM_UTF16_LE, BOM_UTF16_BE)
ONE: Final = "; a value is one record: let the producer send each alone, or set Topic.each"


class _Seen:
    """What the values of one batch have shown, by the number of the record."""

    def __init__(self) -> None:
        self.lacking = defaultdict[int, list[Way]](list)
        """The fields of which a key may be in the wrong case, since it has no value for them, or
        for a member.
        """
        self.missing = dict[int, str]()
        """A required field that has no value."""
        self.wrong = dict[int, str]()

    def look(self, way: Way, values: Sequence[Any]) -> None:
        """Note the records without a value."""
        if not way.checked and None in values:
            lacks = [number for number, value in enumerate(values) if value is None]
            for number in lacks:
                self.lacking[number].append(way)
            if way.place.field.required:
                why = f"`$.{way.text}` is missing or null"
                self.missing = dict.fromkeys(lacks, why) | self.missing
        if way.members:
            tree = way.place.field.tree
            for number, value in enumerate(values):
                if lacks_member(tree, value):
                    self.lacking[number].append(way)

    def refuse(self, wrong: Mapping[int, str]) -> None:
        """Note what is wrong, unless something was before."""
        self.wrong = {**wrong, **self.wrong}


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
        self._wanted = tuple(wanted)
        self._names, root = Names(), Node()
        leaves = [(place, leaf(place.field)) for place in places]
        for place, of in leaves:
            for base in place.bases:
                for path in place.paths:
                    root.put((*base, *path), of, required=is_sure(place, of))
                    self._names.put((*base, *path), place.field.tree)
        self._ways = [way_of(place, of, root) for place, of in leaves]
        record = root.annotation(times=True)
        self._nulls = root.nulls(record)
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(record)
        schemed = dict.fromkeys(place for way in self._ways for place in way.held)
        self._schemas = {place: Schemas(place) for place in schemed if place is not None}
        as_text = msgspec.json.Decoder(root.annotation(times=False)).decode
        self._long = LongFractions(as_text, root.times(), self._decoder.decode)

    @staticmethod
    def prepare(format_: Json, topic: Topic, root: str, settings: Settings | None) -> None:
        """Nothing."""

    def decode(self, records: Records) -> Decoded:
        """As the port has it."""
        values = records.values.to_pylist()
        decoded, reasons = self._decoded(values)
        columns: dict[str, pa.Array] = {}
        seen, chosen = _Seen(), dict[Any, list[int | None]]()
        schemas = {place: each.of(values) for place, each in self._schemas.items()}
        for way in self._ways:
            asked = way.place.field.name in self._wanted
            if not (asked or way.looked_at or way.held):
                continue
            found = values_of(way, decoded, chosen, seen.wrong)
            seen.look(way, found)
            others = read_otherwise(way, schemas, decoded, found) if way.held else {}
            if asked or others or (way.leaf.judges and _suspect(found)):
                own = way.leaf.column
                column = spliced(found, own, others) if others else own(found)
                columns[way.place.field.name] = column.array
                seen.refuse({n: f"`$.{way.text}` {why}" for n, why in column.wrong.items()})
        for index, ways in seen.lacking.items():
            value = values[index]
            if value and reasons[index] is None:
                reasons[index] = self._odd(value, ways)
        for index, why in (seen.missing | seen.wrong).items():
            reasons[index] = reasons[index] or why
        return Decoded([columns[name] for name in self._wanted], reasons)

    def _odd(self, value: bytes, ways: Sequence[Way]) -> str | None:
        """Which key of a record without these is in the wrong case; None if none is. It looks like
        a missing one, so these records alone are looked at again.
        """
        steps = (step for way in ways for path in paths_of(way) for step in path)
        keys = {step for step in steps if isinstance(step, str)}.union(*(w.members for w in ways))
        return self._names.wrong(value) if odd_case(value, keys) else None

    def _decoded(self, values: Sequence[bytes | None]) -> tuple[list[Any], list[str | None]]:
        """The records, null and with a reason where they are malformed. No Python of ours runs for
        a good record, where all are ASCII and no second has more than six digits: it would be half
        of the time.
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
                reasons[len(records)] = self._reason(value, error)
                records.append(self._nulls)
        return records, reasons

    def _strict(self, value: bytes) -> Any:
        if not value.isascii():
            value.decode()  # msgspec checks the encoding of declared fields only
        return self._long.decode(value) if may_have(value) else self._decoder.decode(value)

    def _reason(self, value: bytes | None, error: Exception) -> str:
        if not value:
            return TOMBSTONE if value is None else EMPTY
        if isinstance(error, msgspec.ValidationError):
            several = ONE if value.lstrip().startswith(b"[") else ""
            return self._names.wrong(value) or f"{error}{several}"
        return not_json(value, error)


def not_json(value: bytes, error: Exception) -> str:
    """Why a value is none."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if value.startswith(MARKS):
        return "not JSON in UTF-8: it begins with a byte order mark"
    return f"not JSON: {error}{ONE if 'trailing characters' in str(error) else ''}"


def _suspect(values: Sequence[Any]) -> bool:
    """Whether one of them may be refused: a time in UTC is not."""
    return any(value is not None and getattr(value, "tzinfo", None) is not UTC for value in values)
