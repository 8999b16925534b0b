"""Registered topic: the fields of a schema of a registry, and what records of it have there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Final

from spark_jobs.decode.schemas.kept import Kept
from spark_jobs.decode.schemas.registry import Registry
from spark_jobs.decode.schemas.schema import Schema
from spark_jobs.decode.schemed.registered import HEAD, schema_id
from spark_jobs.draft import avro_schema, protobuf_schema
from spark_jobs.draft.avro_schema import Column, Layout
from spark_jobs.draft.fields import Drafted, Reading, drafted
from spark_jobs.draft.leaf import INEXACT, Kind, Leaf, kind
from spark_jobs.draft.tried import tried
from spark_jobs.errors import SampleUnusable
from spark_jobs.spec import Avro, Field, Protobuf, Topic

if TYPE_CHECKING:
    from spark_jobs.draft.sample import Sampled
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec.fields.field import Part
    from spark_jobs.values.path import Path

REGISTRY: Final = "main"
CLOCK: Final = "kafka_time"
TAKEN: Final = ("changed_at", "op", "arrived_at", CLOCK)


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
    Kept(root, REGISTRY).fetch(ids, lambda: Registry(declared))


def of_registered(ordered: Sequence[Sampled], root: str) -> Reading:
    """By the newest record's schema of those that are kept under `root`. Raises SampleUnusable."""
    format_, layouts = _layouts(ordered, root)
    envelope, row, around = layouts[0]
    notes = dict[str, str]()
    fields = _declared(row, "value", TAKEN, notes)
    names = [*TAKEN, *(each.field.name for each in fields)]
    fields += _declared(around, "envelope", names, notes)
    given = tuple(
        each.field.model_copy(update={"required": _is_in_all(each.leaf.path, layouts)})
        for each in fields
    )
    clock = Field(name=CLOCK, type="timestamp", part="timestamp")
    topic = Topic(
        name="x", fields=(*given, clock), event_time=CLOCK, format=format_, envelope=envelope
    )
    made = tried(topic, ordered, root)
    if not made.good:
        reason, records = made.malformed.most_common(1)[0]
        raise SampleUnusable.mostly_malformed(records=records, sampled=len(ordered), reason=reason)
    stamps = [each.timestamp for each in made.good if each.timestamp is not None]
    clock_ms = median(stamps) if stamps else 0
    read = [
        _refined(field, Leaf(each.leaf.path, [row[field.name] for row in made.rows]), clock_ms)
        for field, each in zip(given, fields, strict=True)
    ]
    return Reading(made.good, read, format_, envelope, notes=notes)


def _layouts(ordered: Sequence[Sampled], root: str) -> tuple[Avro | Protobuf, list[Layout]]:
    kept = Kept(root, REGISTRY).schemas() if root else {}
    newest = [
        (has, value)
        for each, value in reversed(_ids(ordered).items())
        if isinstance(has := kept.get(each), Schema)
    ]
    if not newest:
        raise SampleUnusable.by_registry(sampled=len(ordered))
    kind = newest[0][0].kind
    schemas = [schema for schema, _ in newest if schema.kind == kind]
    if kind == "AVRO":
        return Avro(registry=REGISTRY), [*map(avro_schema.layout, schemas)]
    if kind != "PROTOBUF":
        raise SampleUnusable.other_schema(kind=kind)
    message = _message(newest, len(ordered))
    layouts = (protobuf_schema.layout(each, message) for each in schemas)
    return Protobuf(registry=REGISTRY, message=message), [each for each in layouts if each]


def _message(newest: Sequence[tuple[Schema, bytes]], sampled: int) -> str:
    try:
        found = protobuf_schema.message_of(*newest[0])
    except (ValueError, IndexError) as error:
        reason = str(error)
    else:
        if found is not None:
            return found
        reason = "its message is none of its schema"
    raise SampleUnusable.mostly_malformed(records=1, sampled=sampled, reason=reason)


def _declared(
    columns: Mapping[Path, Column], part: Part, taken: Sequence[str], notes: dict[str, str]
) -> list[Drafted]:
    def of(leaf: Leaf, _: float) -> Kind:
        return columns[leaf.path].kind

    return drafted([Leaf(path, []) for path in columns], 0, part, taken, of, notes=notes)


def _refined(field: Field, leaf: Leaf, clock_ms: float) -> Drafted:
    """A time, where numbers or texts without a logical type are one."""
    if field.format or field.type not in {"bigint", "double", "string"} or not leaf.values:
        return Drafted(field, leaf)
    found = kind(leaf, clock_ms)
    if found.type == "timestamp":
        field = field.model_copy(update={"type": found.type, "format": found.format})
    # A number stays what its schema says.
    return Drafted(field, leaf, INEXACT if found.type.startswith("decimal") else found.note)


def _ids(sample: Sequence[Sampled]) -> dict[str, bytes]:
    found = dict[str, bytes]()
    for each in sample:
        if number := schema_id((value := each.value or b"")[:HEAD]):
            found.pop(number, None)
            found[number] = value
    return found


def _is_in_all(path: Path, layouts: Sequence[Layout]) -> bool:
    rows = [each.row for each in layouts]
    return all(path in each and not each[path].optional for each in rows)
