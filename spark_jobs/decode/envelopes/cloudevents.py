"""CloudEvents: events in either mode of their binding to Kafka (CloudEvents 1.0.2).

Structured: the value is the event, as JSON, with its data in it, or the data's bytes in base64.
Binary: the value is the data, in the topic's format, and the attributes are headers. The header
content-type says which; what says nothing is read as structured.
"""

from __future__ import annotations

import base64
import binascii
import json
from base64 import b64decode
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from spark_jobs.decode.alone import alone, free, of_value, optional
from spark_jobs.decode.formats import Decoded, Enveloped, Records, decoder_class, together
from spark_jobs.decode.headers import HeaderFields, Headers
from spark_jobs.spec import Compressed, Field, Format
from spark_jobs.spec.fields.form import CONTENT_TYPE, SIGN
from spark_jobs.spec.fields.place import Place
from spark_jobs.spec.formats.format import JSON

if TYPE_CHECKING:
    from spark_jobs.decode.formats import Read
    from spark_jobs.spec import Topic

MEMBER: Final = "data_base64"
NO_BASE64: Final = f"`$.{MEMBER}` is no base64"
BOTH: Final = f"it has both `$.data` and `$.{MEMBER}`"


class CarriedData:
    """The structured events of a topic, by a decoder of whole events."""

    def __init__(
        self,
        format_: Format,
        whole: Format,
        places: Sequence[Place],
        data: Sequence[Place],
        wanted: Sequence[str],
        given: object,
    ) -> None:
        """`whole` is the format of an event with these places; that of the bytes, with the places
        `data`, is in the topic's `format_`, which prepared `given`.
        """
        names = [each.field.name for each in places]
        name = next(f"{MEMBER}_{n}" for n in range(len(names) + 1) if f"{MEMBER}_{n}" not in names)
        member = Place(
            Field(name=name, type="string", part="envelope", required=False), ((MEMBER,),)
        )
        around = [each for each in places if each.field.part == "envelope"]
        # Whoever declares it has its bytes already.
        declared = any(path[0] == MEMBER for each in around for path in each.paths)
        self._reads = bool(data) and not declared
        more = (member,) if self._reads else ()
        of = decoder_class(whole)
        # Whatever is wanted, all of the data tells whether the event has it in both places.
        unwanted = [each.field.name for each in data if each.field.name not in wanted]
        told = [*wanted, *unwanted, name] if self._reads else wanted
        self._whole = of(whole, (*places, *more), told, None)
        self._told_by = [told.index(each.field.name) for each in data] if self._reads else []
        self._names = [each.field.name for each in around if each.field.name in wanted]
        self._around = of(whole, around, self._names, None)
        inner = format_.within
        self._of_data = [each.field.name for each in data if each.field.name in wanted]
        self._data = decoder_class(inner)(inner, data, self._of_data, given)
        self._wanted = tuple(wanted)

    def decode(self, records: Records) -> Decoded:
        """As the port has it."""
        import pyarrow as pa  # noqa: PLC0415 - a process that only plans needs it not

        found = self._whole.decode(records)
        if not self._reads:
            return found
        [*every, texts] = found.columns
        columns = every[: len(self._wanted)]
        own = Decoded(columns, found.reasons)
        if texts.null_count == len(texts):
            return own
        here = texts.is_valid().to_pylist()
        others = [number for number, carried in enumerate(here) if not carried]
        numbers = [number for number, carried in enumerate(here) if carried]
        twice = {n for n in numbers if any(every[at][n].is_valid for at in self._told_by)}
        carried = self._carried(records.at(numbers), texts.drop_null().to_pylist())
        reasons = [
            BOTH if n in twice else why for n, why in zip(numbers, carried.reasons, strict=True)
        ]
        cut = Decoded(
            [column.take(pa.array(others, pa.int64())) for column in columns],
            [found.reasons[n] for n in others],
        )
        return together([cut, carried._replace(reasons=reasons)], [others, numbers])

    def _carried(self, records: Records, texts: Sequence[str]) -> Decoded:
        import pyarrow as pa  # noqa: PLC0415 - as above

        values, wrong = list[bytes](), dict[int, str]()
        for number, text in enumerate(texts):
            try:
                values.append(base64.b64decode(text, validate=True))
            except (binascii.Error, ValueError):
                wrong[number] = NO_BASE64
                values.append(b"")
        around = self._around.decode(records)
        data = self._data.decode(records._replace(values=pa.array(values, pa.binary())))
        found = dict(zip(self._names, around.columns, strict=True))
        found |= dict(zip(self._of_data, data.columns, strict=True))
        reasons = [
            wrong.get(number) or first or second
            for number, (first, second) in enumerate(zip(around.reasons, data.reasons, strict=True))
        ]
        return Decoded([found[name] for name in self._wanted], reasons)


STRUCTURED: Final = "application/cloudevents"
READ: Final = ("", "+json")
"""What may stand behind it: the event format. The binding's own default is JSON."""
OTHERS: Final = "its content-type is {}: of structured events one a value is read, in JSON"


class CloudEventsDecoder(Enveloped):
    """The attributes and the data of a topic's events."""

    def __init__(self, topic: Topic, wanted: Sequence[str], given: object) -> None:
        self._wanted = tuple(wanted)
        whole, data = in_json(topic.format), topic.data_places
        self._whole = CarriedData(topic.format, whole, topic.value_places, data, wanted, given)
        self._of_data = [each.field.name for each in data if each.field.name in wanted]
        self._data = decoder_class(topic.format)(topic.format, data, self._of_data, given)
        self._attributes = HeaderFields(topic.attribute_names, base64=True)

    def decode(self, records: Records) -> Decoded:
        """As the port has it."""
        modes, wrong = binary_modes(Headers(records.headers))
        parts: dict[bool, list[int]] = {}
        for number, binary in enumerate(modes):
            parts.setdefault(binary, []).append(number)
        if not parts:
            return self._whole.decode(records)
        found = [
            (self._binary if binary else self._whole.decode)(
                records if len(parts) == 1 else records.at(numbers)
            )
            for binary, numbers in parts.items()
        ]
        whole = _begun(found, [*parts.values()])
        reasons = [wrong.get(number, why) for number, why in enumerate(whole.reasons)]
        return whole._replace(reasons=reasons)

    @staticmethod
    def each(topic: Topic, given: object, record: Records) -> Iterator[Read]:
        headers = Headers(record.headers)
        [binary], wrong = binary_modes(headers)
        if not binary:
            whole = in_json(topic.format)
            data = {each.field.name: (free(each),) for each in topic.data_places}
            for place in topic.value_places:
                name = place.field.name
                around = (free(place),), data.get(name, ())
                by = CarriedData(topic.format, whole, *around, [name], given)
                field, column, why = alone(by.decode, place, record)
                yield field, column, wrong.get(0, why)
            return
        yield from of_value(topic, given, record, topic.data_places)
        for named in topic.attribute_names:
            one = named._replace(field=optional(named.field))
            columns, reasons = HeaderFields([one], base64=True).columns(headers)
            yield named.field, columns[named.field.name], reasons.get(0)

    @staticmethod
    def as_object(value: Any, headers: Mapping[str, bytes | None]) -> Any:
        if SIGN in headers:
            return {"data": value} | {name.removeprefix("ce_"): of for name, of in headers.items()}
        if isinstance(value, dict) and isinstance(coded := value.get("data_base64"), str):
            with suppress(ValueError, RecursionError):
                return value | {"data": json.loads(b64decode(coded))}
        return value

    def _binary(self, records: Records) -> Decoded:
        found, reasons = self._data.decode(records)
        columns, wrong = self._attributes.columns(Headers(records.headers))
        columns |= dict(zip(self._of_data, found, strict=True))
        merged = [why or wrong.get(number) for number, why in enumerate(reasons)]
        return Decoded([columns[name] for name in self._wanted], merged)


def _begun(found: Sequence[Decoded], numbers: Sequence[Sequence[int]]) -> Decoded:
    """All events up to the first that is not decoded yet. `numbers`: those of each mode."""
    lacks = [
        of[len(each.reasons)]
        for each, of in zip(found, numbers, strict=True)
        if len(each.reasons) < len(of)
    ]
    stop = min(lacks, default=sum(map(len, numbers)))
    places = [of[: bisect_left(of, stop)] for of in numbers]
    cut = [
        Decoded([column.slice(0, len(of)) for column in each.columns], each.reasons[: len(of)])
        for each, of in zip(found, places, strict=True)
    ]
    return together(cut, places)


def binary_modes(headers: Headers) -> tuple[list[bool], dict[int, str]]:
    """Of each event whether it is in binary mode; and its number -> why it cannot be read."""
    modes, wrong = list[bool](), dict[int, str]()
    signed = headers.last(SIGN).is_valid().to_pylist()
    for number, content_type in enumerate(headers.last(CONTENT_TYPE).to_pylist()):
        form = _event_format(content_type)
        if form is not None and form not in READ:
            wrong[number] = OTHERS.format(STRUCTURED + form)
        modes.append(form is None and signed[number])
    return modes, wrong


def in_json(format_: Format) -> Format:
    """How structured events are encoded."""
    if isinstance(format_, Compressed):
        return format_.model_copy(update={"format": JSON})
    return JSON


def _event_format(content_type: bytes | None) -> str | None:
    """What stands behind application/cloudevents, in small letters; None if that is not there."""
    text = (content_type or b"").decode(errors="replace").partition(";")[0].strip().lower()
    if not text.startswith(STRUCTURED):
        return None
    return text.removeprefix(STRUCTURED)[:20]
