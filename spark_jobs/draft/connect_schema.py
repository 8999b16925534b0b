"""Connect schema: what Kafka Connect's JSON converter writes beside a record, which says types that
values do not show: a decimal's scale, a time's unit.

Source: org.apache.kafka.connect.json.JsonConverter; Debezium's "temporal types".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from spark_jobs.decode.json.connect import DECIMAL, UNITS
from spark_jobs.draft.avro_schema import MOST_DIGITS
from spark_jobs.draft.leaf import DEEPEST, Kind

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
