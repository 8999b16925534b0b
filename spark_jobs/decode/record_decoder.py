"""Record decoder: the fields of a topic's records, of whichever part each is. What is alike for all
formats is done here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spark_jobs.decode import raised
from spark_jobs.decode.formats import (
    TOMBSTONE,
    Decoded,
    Decoder,
    Enveloped,
    Records,
    decoder_class,
    enveloped,
    in_parts,
    refuse_disagreeing,
    taken,
    value_decoder,
    whole,
)
from spark_jobs.spec.fields.field import OF_KAFKA
from spark_jobs.values.conversions import arrow_type
from spark_jobs.values.field_types import field_type
from spark_jobs.values.path import as_text

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from spark_jobs.decode.envelopes.rowless import Rowless
    from spark_jobs.decode.headers import HeaderFields
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Field, Format, Topic
    from spark_jobs.spec.fields.place import Place

MOST: Final = 60
"""Characters of a rule in a reason."""


def broken(array: pa.Array, field: Field) -> dict[int, str]:
    """Number of the record -> which rule its value breaks: words that follow the field's name."""
    import numpy as np  # noqa: PLC0415 - a process that only plans needs it not

    found = dict[int, str]()
    for name in ("one_of", "pattern", "at_least", "at_most"):
        rule = getattr(field, name)
        if rule is None or rule == ():
            continue
        told = str(rule) if len(str(rule)) <= MOST else f"{str(rule)[:MOST]}…"
        for index in np.flatnonzero(_breaks(array, field, name)).tolist():
            found.setdefault(index, f"is a {field.type} that breaks its rule {name}={told}")
    return found


def _breaks(array: pa.Array, field: Field, name: str) -> npt.NDArray[np.bool_]:
    import pyarrow as pa  # noqa: PLC0415 - as above
    import pyarrow.compute as pc  # noqa: PLC0415 - as above

    rule = getattr(field, name)
    if name == "one_of":
        kept = pc.is_in(array, pa.array([*rule], array.type))
    elif name == "pattern":
        kept = _matches(array, rule)
    else:
        kind = field_type(field.type)
        assert kind is not None
        limit = pa.scalar(kind.parse(str(rule)), arrow_type(field.type))
        kept = (pc.greater_equal if name == "at_least" else pc.less_equal)(array, limit)
    kept = pc.or_(pc.is_null(array), pc.fill_null(kept, fill_value=False))
    result: npt.NDArray[np.bool_] = pc.invert(kept).to_numpy(zero_copy_only=False)
    return result


def _matches(array: pa.Array, pattern: str) -> pa.Array:
    """By Python's re, which the spec was checked by. Each different text once."""
    import pyarrow as pa  # noqa: PLC0415 - as above

    match, texts = re.compile(pattern).fullmatch, array.dictionary_encode()
    good = pa.array([match(text) is not None for text in texts.dictionary.to_pylist()], pa.bool_())
    return good.take(texts.indices)


HEADERS: Final = "spark_jobs.decode.headers:HeaderFields"
ENVELOPES: Final = "spark_jobs.decode.envelopes."
"""Loaded by name, as the one before: most topics have none."""
NO_TIME: Final = "Kafka's timestamp is no time"


class RecordDecoder:
    """Decodes the records of a topic."""

    def __init__(
        self, topic: Topic, wanted: Sequence[str], given: object, given_key: object
    ) -> None:
        self._topic = topic
        self._wanted = tuple(wanted)
        places, keys = topic.value_places, topic.key_places
        self._value: Decoder | Enveloped
        if around := enveloped(topic):
            self._of_value = self._built(places)
            self._value = around(topic, self._of_value, given)
        else:
            self._of_value = self._built(places)
            self._value = value_decoder(topic)(topic.format, places, self._of_value, given)
        self._rowless: Rowless | None = None
        if topic.envelope == "debezium":
            self._rowless = resolve_name(f"{ENVELOPES}rowless:Rowless")(topic, given)
        self._key, self._of_key = self._part(topic.key, keys, given_key)
        named = topic.header_names
        self._headers: HeaderFields | None = resolve_name(HEADERS)(named) if named else None
        of_kafka = [field for field in topic.fields if field.part in (*OF_KAFKA, "header")]
        of_parts = [place.field for place in (*places, *keys)]
        self._fields = {each.name: each for each in (*of_parts, *of_kafka)}
        self._ruled = [each for each in self._fields.values() if each.ruled]
        self._drops = topic.tombstones == "dropped"

    def decode(self, records: Records) -> Decoded:
        """All of them as one."""
        return whole(self.parts(records))

    def parts(self, records: Records, most: int | None = None) -> Iterator[Decoded]:
        """One part, unless values grow when they are decoded. The wanted columns, null in each
        where the record is malformed, or is a tombstone that the topic drops: such a one has no
        reason. `most` as in raised.py.
        """
        kinds = [self._fields[name].type for name in self._wanted]
        return in_parts(lambda given: raised.decoded(self._decode, given, kinds, most), records)

    def _decode(self, records: Records) -> Decoded:
        found, reasons = self._value.decode(records)
        of_key, why_not = self._keys(records.first(len(reasons)))
        count = len(why_not)
        records, reasons = records.first(count), reasons[:count]
        found = [column.slice(0, count) for column in [*found, *of_key]]
        columns = dict(zip((*self._of_value, *self._of_key), found, strict=True))
        if len(columns) < len(self._fields):
            columns |= self._others(records, reasons)
        _merge(reasons, {at: f"key: {why}" for at, why in enumerate(why_not) if why})
        for field in self._ruled:
            for index, why in broken(columns[field.name], field).items():
                reasons[index] = reasons[index] or f"{_named(field)} {why}"
        self._refuse_nulls(columns, reasons)
        if self._rowless:
            self._rowless.note(records, columns, reasons)
        hidden = reasons
        if self._drops and records.values.null_count:
            gone = records.values.is_null().to_pylist()
            reasons = [None if no else why for no, why in zip(gone, reasons, strict=True)]
            hidden = [TOMBSTONE if no else why for no, why in zip(gone, reasons, strict=True)]
        return Decoded(taken([columns[name] for name in self._wanted], hidden), reasons)

    def _part(
        self, format_: Format, places: Sequence[Place], given: object
    ) -> tuple[Decoder, list[str]]:
        built = self._built(places)
        return decoder_class(format_)(format_, places, built, given), built

    def _built(self, places: Sequence[Place]) -> list[str]:
        """Those that are wanted or have a rule. If no row may be there, one of a row at least."""
        fields = [each.field for each in places]
        found = [field.name for field in fields if field.name in self._wanted or field.ruled]
        of_row = [field.name for field in fields if field.part == "value"]
        if self._topic.envelope == "debezium" and not {*found} & {*of_row}:
            found += of_row[:1]
        return found

    def _others(self, records: Records, reasons: list[str | None]) -> dict[str, pa.Array]:
        columns = self._of_record(records)
        if self._headers:
            found, wrong = self._headers.of_records(records.headers)
            columns |= found
            _merge(reasons, wrong)
        return columns

    def _keys(self, records: Records) -> Decoded:
        """Of the first records what fields of the key have. A key that is null is no wrong one."""
        if not any(each.part == "key" for each in self._fields.values()):
            return Decoded([], [None] * len(records.values))
        found, why_not = self._key.decode(records._replace(values=records.keys))
        nulls = records.keys.is_null().to_pylist()
        return Decoded(
            found, [None if no else why for no, why in zip(nulls, why_not, strict=False)]
        )

    def _of_record(self, records: Records) -> dict[str, pa.Array]:
        import pyarrow as pa  # noqa: PLC0415 - a process that only plans does not need it

        columns = {}
        for name, field in self._fields.items():
            if field.part == "topic":
                columns[name] = pa.array([self._topic.name] * len(records.values), pa.string())
            elif field.part in OF_KAFKA:
                columns[name] = getattr(records, field.part)
        return columns

    def _refuse_nulls(self, columns: Mapping[str, pa.Array], reasons: list[str | None]) -> None:
        """A format refuses what it has not found; this is for all of them, and for the other
        parts.
        """
        for name, column in columns.items():
            field = self._fields[name]
            if field.required and column.null_count:
                why = (
                    NO_TIME if field.part == "timestamp" else f"{_named(field)} is missing or null"
                )
                lacks = column.is_null().to_pylist()
                _merge(reasons, {index: why for index, lack in enumerate(lacks) if lack})


def _merge(reasons: list[str | None], more: Mapping[int, str]) -> None:
    for index, why in more.items():
        reasons[index] = reasons[index] or why


def _named(field: Field) -> str:
    if field.part in OF_KAFKA:
        return field.part
    where = as_text(field.paths[0])
    return f"`$.{where}`" if field.part in ("value", "envelope") else f"{field.part} `{where}`"


class Prepared(NamedTuple):
    """All that a task needs to decode a topic's records. Can be pickled."""

    topic: Topic
    wanted: tuple[str, ...]
    given: tuple[Any, Any]
    """What the formats of the value and of the key have prepared."""

    def decoder(self) -> RecordDecoder:
        """A new one."""
        return RecordDecoder(self.topic, self.wanted, *self.given)


def prepare(
    topic: Topic, root: str, settings: Settings | None, wanted: Sequence[str] | None = None
) -> Prepared:
    """Columns of the `wanted` fields only; of all by default. Every field is validated.

    Raises SpecInvalid if a declared schema does not fit the fields.
    """
    refuse_disagreeing(topic)
    value, key = (
        decoder_class(each).prepare(each, topic, root, settings)
        for each in (topic.format, topic.key)
    )
    return Prepared(topic, tuple(wanted or topic.columns), (value, key))
