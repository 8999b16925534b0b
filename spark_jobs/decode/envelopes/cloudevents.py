"""CloudEvents: events in either mode of their binding to Kafka (CloudEvents 1.0.2).

Structured: the value is the event, as JSON, with its data in it, or the data's bytes in base64.
Binary: the value is the data, in the topic's format, and the attributes are headers. The header
content-type says which; what says nothing is read as structured.
"""

from __future__ import annotations

import json
from base64 import b64decode
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from spark_jobs.decode.alone import alone, free, of_value, optional
from spark_jobs.decode.envelopes.carried_data import CarriedData
from spark_jobs.decode.formats import Decoded, Enveloped, Records, decoder_class
from spark_jobs.decode.header_fields import HeaderFields
from spark_jobs.decode.headers import Headers
from spark_jobs.decode.together import together
from spark_jobs.spec import Compressed, Format
from spark_jobs.spec.fields.cloudevents import CONTENT_TYPE, SIGN
from spark_jobs.spec.formats.format import JSON

if TYPE_CHECKING:
    from spark_jobs.decode.formats import Read
    from spark_jobs.spec import Topic

STRUCTURED: Final = "application/cloudevents"
READ: Final = ("", "+json")
"""What may stand behind it: the event format. The binding's own default is JSON."""
OTHERS: Final = "its content-type is {}: of structured events one a value is read, in JSON"


class CloudEventsDecoder(Enveloped):
    """The attributes and the data of a topic's events."""

    def __init__(self, topic: Topic, wanted: Sequence[str], given: object) -> None:
        """See Enveloped."""
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
        """See Enveloped."""
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
        """See Enveloped."""
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
