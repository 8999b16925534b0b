"""Writing: a topic's fields as a JSON Schema, from which they can be read again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from spark_jobs.errors import SpecInvalid
from spark_jobs.spec.fields.field import EPOCHS, Field
from spark_jobs.spec.json_schema.document import OWN, Schema
from spark_jobs.spec.json_schema.reading import from_json_schema
from spark_jobs.spec.json_schema.rules import with_rules
from spark_jobs.spec.json_schema.types import or_null, schema_of
from spark_jobs.values.path import snake

if TYPE_CHECKING:
    from spark_jobs.spec.topic import Topic

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"


def as_json_schema(topic: Topic) -> str:
    """The schema of the topic's values; of one in an envelope, of its rows. What JSON Schema has no
    word for is under `x-sluice`.
    """
    root: Schema = {"$schema": DRAFT, "title": topic.name, "type": "object", "properties": {}}
    others, written = list[Field](), list[Field]()
    for field in topic.fields:
        (written if _put(root, field) else others).append(field)
    _allow_nulls(root)
    own: Schema = {}
    if others:
        own["others"] = [_dumped(field) for field in others]
    found = [field.name for field in from_json_schema(_text(root))]
    if [*topic.columns] != [*found, *(field.name for field in others)]:
        own["order"] = [*topic.columns]
    return _text(root | ({OWN: own} if own else {}))


def _put(root: Schema, field: Field) -> bool:
    """Whether the place of the field is one of JSON Schema's; then it is there."""
    *above, last = path = field.paths[0]
    if field.part != "value" or not all(isinstance(key, str) for key in path):
        return False
    at = root
    for key in map(str, above):
        at = at["properties"].setdefault(key, {"type": "object", "properties": {}})
        if OWN in at or "properties" not in at:
            return False
    if (key := str(last)) in at["properties"]:
        return False
    sure = field.required and len(field.paths) == 1
    at["properties"][key] = property_of(field, sure=sure)
    if sure:
        _require(root, path)
    return True


def _allow_nulls(at: Schema) -> None:
    """Let the objects above optional fields be null."""
    for key, each in at.get("properties", {}).items():
        if OWN not in each and "properties" in each:
            _allow_nulls(each)
            if key not in at.get("required", ()):
                each["type"] = ["object", "null"]


def _require(root: Schema, path: tuple[Any, ...]) -> None:
    at = root
    for key in path:
        needed = at.setdefault("required", [])
        if key not in needed:
            needed.append(key)
        at = at["properties"][key]


def property_of(field: Field, *, sure: bool) -> Schema:
    """The schema of its values; with what only Sluice knows of it."""
    schema = _written(field) | with_rules(field)
    if field.about:
        schema["description"] = field.about
    schema = schema if sure else or_null(schema)
    own: Schema = {} if field.name == snake(field.paths[0]) else {"name": field.name}
    read, wanted = _read(schema, own, field, sure=sure), _dumped(field)
    if read is None and field.pattern is not None:  # it is one that ECMA does not know
        own["pattern"] = field.pattern
        read = _read(schema, own, field, sure=sure)
    if read is None or (read.type, read.format) != (field.type, field.format):
        own["type"] = field.type
        if field.format is not None:
            own["format"] = wanted["format"]
        read = _read(schema, own, field, sure=sure)
    assert read is not None
    usual = Field.model_fields
    for name in dict.fromkeys((*wanted, *_dumped(read))):
        if getattr(read, name) != getattr(field, name):
            own[name] = wanted.get(name, usual[name].default)
    return schema | ({OWN: own} if own else {})


def _read(schema: Schema, own: Schema, field: Field, *, sure: bool) -> Field | None:
    """What a reader makes of it; None if no field of its name and place."""
    key = field.paths[0]
    at: Schema = schema | ({OWN: own} if own else {})
    for step in reversed(key):
        at = {"type": "object", "properties": {step: at}, "required": [step] if sure else []}
    try:
        found = from_json_schema(_text(at))
    except SpecInvalid:
        return None
    return found[0] if len(found) == 1 else None


def _written(field: Field) -> Schema:
    if field.format == "json":
        return {}
    if field.format in (*EPOCHS, "days"):
        return {"type": ["number" if field.format == "s" else "integer", "string"]}
    if field.format == "base64":
        return {"type": "string", "contentEncoding": "base64"}
    return {"type": "string"} if field.format is not None else schema_of(field.tree)


def _dumped(field: Field) -> Schema:
    return field.model_dump(mode="json", exclude_defaults=True)


def _text(schema: Schema) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False)
