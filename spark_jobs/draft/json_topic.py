"""JSON topic: the fields of a sample of JSON objects, plain or in an envelope, or with the schema
that Kafka Connect's JSON converter writes beside a record.

That schema says types that values do not show: a decimal's scale, a time's unit. Source:
org.apache.kafka.connect.json.JsonConverter; Debezium's "temporal types".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from spark_jobs.decode.json.connect import DECIMAL, UNITS
from spark_jobs.draft.avro_schema import MOST_DIGITS
from spark_jobs.draft.fields import Drafted, Reading, drafted
from spark_jobs.draft.leaf import DEEPEST, Kind, Leaf, kind, leaves
from spark_jobs.draft.many import apart
from spark_jobs.draft.sample import Sampled
from spark_jobs.draft.written_time import FEW
from spark_jobs.errors import SampleUnusable
from spark_jobs.spec.fields.place import Envelope

if TYPE_CHECKING:
    from spark_jobs.values.path import Path

_NAMED: Final = {
    name: Kind("date" if unit == "days" else "timestamp", unit) for name, unit in UNITS.items()
} | {"io.debezium.time.ZonedTimestamp": Kind("timestamp")}
_PLAIN: Final = {
    **dict.fromkeys(("int8", "int16", "int32"), Kind("int")),
    "int64": Kind("bigint"),
    "float32": Kind("float"),
    "float64": Kind("double"),
    "boolean": Kind("boolean"),
    "bytes": Kind("binary"),
}
FEW_AROUND: Final = 3
"""Fields of a value that is a list of records and what they have in common."""
_DEEPEST: Final = DEEPEST + 2
"""With what is around a row."""


def is_connect(record: Mapping[str, Any]) -> bool:
    """Whether it is a payload with its schema beside it, and nothing more."""
    schema = record.get("schema")
    return record.keys() == {"schema", "payload"} and isinstance(schema, dict) and "type" in schema


def declared(record: Mapping[str, Any]) -> dict[Path, Kind]:
    """Path in the record -> what its schema says of it. Text and names that are not known are left
    to the values.
    """
    return dict(_within(record["schema"], ("payload",))) if is_connect(record) else {}


def _within(schema: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, Kind]]:
    parts = schema.get("fields")
    for part in parts if isinstance(parts, list) else ():
        if not isinstance(part, dict) or not isinstance(part.get("field"), str):
            continue
        here = (*path, part["field"])
        if len(here) < _DEEPEST:
            yield from _within(part, here)
        if found := _kind(part):
            yield here, found


def _kind(part: Mapping[str, Any]) -> Kind | None:
    name = part.get("name")
    if name == DECIMAL:
        return _decimal(part.get("parameters"))
    kind = str(part.get("type"))
    # Of another name a number means what only its connector knows.
    return _NAMED.get(str(name)) if name and kind != "bytes" else _PLAIN.get(kind)


def _decimal(given: object) -> Kind:
    """Without a usable scale its bytes."""
    has = given if isinstance(given, dict) else {}
    try:
        scale = int(has["scale"])
        digits = int(has.get("connect.decimal.precision", MOST_DIGITS))
    except (KeyError, TypeError, ValueError):
        return Kind("binary")
    fits = 0 <= scale <= digits <= MOST_DIGITS and digits > 0
    return Kind(f"decimal({digits},{scale})", "base64") if fits else Kind("binary")


CLOUD: Final = ("specversion", "id", "source", "type")


def of_json(ordered: Sequence[Sampled]) -> Reading:
    """Raises SampleUnusable."""
    lists = [(each, parsed) for each in ordered if isinstance(parsed := _parsed(each), list)]
    if len(lists) * 2 > len(ordered):
        of_them = [each for each, _ in lists]
        if many := apart([value for _, value in lists], of_them, _clock_ms(of_them)):
            return many
    good = objects(ordered)
    found, of_them = [value for _, value in good], [each for each, _ in good]
    envelope = _envelope(found)
    if envelope is None and (many := apart(found, of_them, _clock_ms(of_them))):
        return many
    notes = dict[str, str]()
    fields = _fields(found, envelope, of_them, notes)
    return Reading(of_them, fields, envelope=envelope, notes=notes)


def objects(sample: Sequence[Sampled]) -> list[tuple[Sampled, dict[str, Any]]]:
    """Those whose value is a JSON object, with it. Raises SampleUnusable where fewer than half
    are.
    """
    found = list[tuple[Sampled, dict[str, Any]]]()
    valued = [each.value for each in sample if each.value]
    for each in sample:
        if isinstance(parsed := _parsed(each), dict):
            found.append((each, parsed))
    if (several := sum(map(_has_several, valued))) * 2 > len(valued):
        raise SampleUnusable.several_in_one(found=several, sampled=len(valued))
    if len(found) * 2 < len(valued) or not found:
        raise SampleUnusable.no_json(found=len(found), sampled=len(valued))
    return found


def _parsed(of: Sampled) -> Any:
    try:
        return json.loads((of.value or b"").decode())  # no mark, no UTF-16: as decoders
    except (ValueError, RecursionError):
        return None


def _has_several(value: bytes) -> bool:
    """Whether a value is a list of JSON objects, or lines of them."""
    try:
        text = value.decode().strip()
        lines = text.splitlines()
        parsed = json.loads(text) if text.startswith("[") else [*map(json.loads, lines)]
    except (ValueError, RecursionError):
        return False
    several = len(parsed) > 1 or text.startswith("[")
    return several and all(isinstance(each, dict) for each in parsed)


def _envelope(found: Sequence[Mapping[str, Any]]) -> Envelope | None:
    payloads = [payload(each) for each in found]
    enough = (1 - FEW) * len(found)
    if sum("op" in each and _has_row(each) for each in payloads) >= enough:
        return "debezium"
    cloud = sum(all(name in each for name in CLOUD) for each in found) >= enough
    return "cloudevents" if cloud else None


def _has_row(change: Mapping[str, Any]) -> bool:
    """Of MongoDB the row is a text with JSON in it, which no field's path reads."""
    sides = [change[name] for name in ("after", "before") if name in change]
    return bool(sides) and all(each is None or isinstance(each, dict) for each in sides)


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def payload(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Connect writes the schema beside it."""
    inner = record.get("payload")
    return inner if isinstance(inner, dict) and "schema" in record else record


def _fields(
    found: Sequence[Mapping[str, Any]],
    envelope: Envelope | None,
    ordered: Sequence[Sampled],
    notes: dict[str, str],
) -> list[Drafted]:
    clock_ms = _clock_ms(ordered)
    rows, around = [_without_schema(each) for each in found], list[Mapping[str, Any]]()
    if envelope == "debezium":
        payloads = [payload(each) for each in found]
        rows = [_object(each.get("after")) or _object(each.get("before")) for each in payloads]
        around = [{"source": {"lsn": _object(each.get("source")).get("lsn")}} for each in payloads]
    elif envelope == "cloudevents":
        rows = [_object(each.get("data")) for each in found]
        around = [{k: v for k, v in each.items() if k != "data"} for each in found]
    said = next(filter(None, map(declared, reversed(found))), {})
    base = ("payload", "after") if envelope == "debezium" else ()

    def of(leaf: Leaf, clock_ms: float) -> Kind:
        shown = kind(leaf, clock_ms)
        found = said.get((*base, *leaf.path), shown)
        texts = sum(isinstance(value, str) for value in leaf.values)
        if (found.format == "base64" or found.type == "binary") and texts * 2 < len(leaf.values):
            # Numbers: the converter's decimal.format is NUMERIC, and the schema does not say so.
            return found._replace(format=None) if found.format else shown
        return found

    taken = ("changed_at", "op", "arrived_at")
    fields = drafted(leaves(rows), clock_ms, taken=taken, of=of, notes=notes)
    fields = [each._replace(note=_several(each, len(fields)) or each.note) for each in fields]
    names = [each.field.name for each in fields]
    beside = drafted(leaves(around), clock_ms, "envelope", names, notes=notes)
    return fields + [each for each in beside if each.leaf.values]


def _clock_ms(records: Sequence[Sampled]) -> float:
    stamps = [each.timestamp for each in records if each.timestamp is not None]
    return median(stamps) if stamps else 0


def _several(of: Drafted, fields: int) -> str:
    """Of a value that is a list of records, with little around them, how many it has."""
    counts = [len(each) for each in of.leaf.values if isinstance(each, list)]
    inner = [each for value in of.leaf.values if isinstance(value, list) for each in value]
    if fields > FEW_AROUND or not inner or not all(isinstance(each, dict) for each in inner):
        return ""
    return f"each value has {min(counts)} to {max(counts)} of them, and is one row"


def _without_schema(record: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"payload": record["payload"]} if is_connect(record) else record
