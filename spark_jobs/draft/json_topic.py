"""JSON topic: the fields of a sample of JSON objects, plain or in an envelope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, Final

from spark_jobs.draft.connect_schema import declared, is_connect
from spark_jobs.draft.fields import Drafted, Reading, drafted
from spark_jobs.draft.leaf import FEW, Kind, Leaf, kind, leaves
from spark_jobs.draft.sample import Sampled, objects
from spark_jobs.spec.fields.place import Envelope

CLOUD: Final = ("specversion", "id", "source", "type")


def of_json(ordered: Sequence[Sampled]) -> Reading:
    """Raises SampleUnusable."""
    good = objects(ordered)
    found, of_them = [value for _, value in good], [each for each, _ in good]
    envelope = _envelope(found)
    notes = dict[str, str]()
    fields = _fields(found, envelope, of_them, notes)
    return Reading(of_them, fields, envelope=envelope, notes=notes)


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
    stamps = [each.timestamp for each in ordered if each.timestamp is not None]
    clock_ms = median(stamps) if stamps else 0
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
    names = [each.field.name for each in fields]
    beside = drafted(leaves(around), clock_ms, "envelope", names, notes=notes)
    return fields + [each for each in beside if each.leaf.values]


def _without_schema(record: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"payload": record["payload"]} if is_connect(record) else record
