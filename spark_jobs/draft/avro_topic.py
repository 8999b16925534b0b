"""Avro topic: the fields of a schema of a registry, and what records of it have there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from spark_jobs.decode.schemed.registered import HEAD, schema_id
from spark_jobs.draft.fields import Drafted, Reading, drafted
from spark_jobs.draft.leaf import DEEPEST, Kind, Leaf
from spark_jobs.draft.tried import tried
from spark_jobs.errors import SampleUnusable
from spark_jobs.schemas.avro import Node, parse
from spark_jobs.schemas.kept import Kept
from spark_jobs.schemas.registry import Registry
from spark_jobs.spec import Avro, Field, Topic

if TYPE_CHECKING:
    from spark_jobs.draft.sample import Sampled
    from spark_jobs.schemas.schema import Schema
    from spark_jobs.settings.installation import Settings
    from spark_jobs.values.path import Path

FORMAT: Final = Avro(registry="main")
TYPES: Final = {
    **dict.fromkeys(("string", "enum", "uuid"), "string"),
    **dict.fromkeys(("bytes", "fixed"), "binary"),
    "boolean": "boolean",
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "date": "date",
    **{f"timestamp-{unit}": "timestamp" for unit in ("millis", "micros", "nanos")},
    **{f"local-timestamp-{unit}": "timestamp_ntz" for unit in ("millis", "micros", "nanos")},
}
"""Kind or logical type -> a field's type. Of any other the value is kept as JSON."""
MOST_DIGITS: Final = 38
"""Of a decimal of Spark's."""


class _Column(NamedTuple):
    path: Path
    kind: Kind
    optional: bool


def is_registered(sample: Sequence[Sampled]) -> bool:
    """Whether most values begin with the id of a schema."""
    valued = [each.value for each in sample if each.value]
    return sum(value[:1] == b"\0" and len(value) > HEAD for value in valued) * 2 > len(valued)


def keep_schemas(sample: Sequence[Sampled], settings: Settings, root: str) -> None:
    """Under `root`, of the registry that the Kafka declaration names. Raises SampleUnusable where
    it names none, RegistryUnreachable, RegistryRefused.
    """
    ids = _ids(sample)
    declared = settings.kafka_config.registry()
    if "url" not in declared:
        raise SampleUnusable.by_registry(sampled=len(sample))
    Kept(root, FORMAT.registry).fetch(ids, lambda: Registry(declared))


def of_avro(ordered: Sequence[Sampled], root: str) -> Reading:
    """By the newest record's schema of those that are kept under `root`. Raises SampleUnusable."""
    kept = Kept(root, FORMAT.registry).schemas() if root else {}
    schemas = [found for each in reversed(_ids(ordered)) if (found := kept.get(each))]
    if not schemas:
        raise SampleUnusable.by_registry(sampled=len(ordered))
    if schemas[0].kind != "AVRO":
        raise SampleUnusable.other_schema(kind=schemas[0].kind)
    all_ = [_columns_of(each) for each in schemas if each.kind == "AVRO"]
    kinds = all_[0]
    fields = drafted(
        [Leaf(path, []) for path in kinds], 0, of=lambda leaf, _: kinds[leaf.path].kind
    )
    given = tuple(
        each.field.model_copy(update={"required": _is_in_all(each.leaf.path, all_)})
        for each in fields
    )
    clock = Field(name="kafka_time", type="timestamp", part="timestamp")
    topic = Topic(name="x", fields=(*given, clock), event_time=clock.name, format=FORMAT)
    made = tried(topic, ordered, root)
    read = [
        Drafted(field, each.leaf._replace(column=[row[field.name] for row in made.rows]), each.note)
        for field, each in zip(given, fields, strict=True)
    ]
    return Reading(made.good, read, FORMAT)


def _ids(sample: Sequence[Sampled]) -> list[str]:
    """Each once, in the order of their newest records."""
    found = dict[str, None]()
    for each in sample:
        if number := schema_id((each.value or b"")[:HEAD]):
            found.pop(number, None)
            found[number] = None
    return [*found]


def _columns_of(schema: Schema) -> dict[Path, _Column]:
    node = parse(schema.text, [text for _, text in schema.references])
    return {each.path: each for each in _columns(node, ())}


def _is_in_all(path: Path, schemas: Sequence[Mapping[Path, _Column]]) -> bool:
    """Whether a record of any of them has it."""
    return all(path in each and not each[path].optional for each in schemas)


def _columns(node: Node, path: Path, *, optional: bool = False) -> Iterator[_Column]:
    """Of a record's fields, and those of records within."""
    for field in node.fields:
        here, part = (*path, field.name), field.node
        lacks = optional
        if part.kind == "union":
            parts = [each for each in part.parts if each.kind != "null"]
            lacks = lacks or len(parts) < len(part.parts)
            part = parts[0] if len(parts) == 1 else part
        if part.kind == "record" and len(here) < DEEPEST and part.fields:
            yield from _columns(part, here, optional=lacks)
        else:
            yield _Column(here, _kind(part), lacks)


def _kind(node: Node) -> Kind:
    if node.logical == "decimal" and node.precision <= MOST_DIGITS:
        return Kind(f"decimal({node.precision},{node.scale})")
    if node.kind == "array" and (inner := TYPES.get(node.parts[0].logical or node.parts[0].kind)):
        return Kind(f"array<{inner}>")
    found = TYPES.get(node.logical) or TYPES.get(node.kind)
    if found is None or node.logical == "decimal":
        return Kind("string", "json")
    return Kind(found)
