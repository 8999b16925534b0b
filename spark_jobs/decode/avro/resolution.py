"""Resolution: what a reader's schema takes of a writer's, by Avro's rules ("Schema Resolution")."""

from __future__ import annotations

from typing import Any, Final

from spark_jobs.decode.avro import wire
from spark_jobs.decode.schemas.avro import Node, NodeField

PROMOTED: Final = {
    "long": ("int",),
    "float": ("int", "long"),
    "double": ("int", "long", "float"),
    "bytes": ("string",),
    "string": ("bytes",),
}
"""Reader's type -> the writer's types that it takes too."""
TICKS: Final = {"millis": 1_000, "micros": 1_000_000, "nanos": 1_000_000_000}


def shown(reader: Node, out: str, *, raw: bool) -> str:
    """The expression for the value of a logical type; empty where it is as it is."""
    kind, _, unit = reader.logical.rpartition("-")
    if reader.logical == "decimal":
        return f"decimal({out}, {reader.scale})"
    if reader.logical == "uuid" and reader.kind == "fixed":
        return f"uuid_text({out})"
    if raw:
        return ""
    if reader.logical == "date":
        return f"day({out})"
    if kind in {"timestamp", "local-timestamp"}:
        return f"{'local_' if kind != 'timestamp' else ''}time({out}, {TICKS[unit]})"
    return ""


def paired(
    writer: Node, reader: Node
) -> tuple[list[tuple[NodeField, NodeField | None]], list[NodeField]]:
    """The writer's fields in their order, each with the reader's of its name or alias; and those of
    the reader that the writer has not.
    """
    if writer is reader:
        return [(each, each) for each in writer.fields], []
    names = {each.name for each in writer.fields}
    by_name: dict[str, NodeField] = {}
    missing = []
    for field in reader.fields:
        name = next((each for each in (field.name, *field.aliases) if each in names), None)
        if name is None or name in by_name:
            missing.append(field)
        else:
            by_name[name] = field
    return [(each, by_name.get(each.name)) for each in writer.fields], missing


def matches(writer: Node, reader: Node, *, exact: bool = False) -> bool:
    """Whether the reader takes the writer's type, as the specification says ("Schema Resolution");
    `exact`: without a promotion. Parts are not looked at: they resolve on their own.
    """
    if reader.kind == "union":
        return any(matches(writer, part, exact=exact) for part in reader.parts)
    if writer.kind != reader.kind:
        return not exact and writer.kind in PROMOTED.get(reader.kind, ())
    if writer.kind in {"record", "enum", "fixed"}:
        short = writer.name.rpartition(".")[2]
        named = short == reader.name.rpartition(".")[2] or writer.name in reader.aliases
        return named and writer.size == reader.size
    if writer.logical and reader.logical:  # milliseconds are no microseconds
        return (writer.logical, writer.scale) == (reader.logical, reader.scale)
    return True


def branch(writer: Node, reader: Node) -> Node | None:
    """What of the reader takes the writer's type: of a union the first part that is it, or else
    that can be.
    """
    parts = reader.parts if reader.kind == "union" else [reader]
    exact = (part for part in parts if matches(writer, part, exact=True))
    return next(exact, None) or next((part for part in parts if matches(writer, part)), None)


def mismatch(writer: Node, reader: Node) -> str:
    """Why the reader takes no value of the writer's type; empty where it takes some."""
    if writer.kind == "union" or matches(writer, reader):
        return ""
    return f"the writer has {said(writer)} and the reader {said(reader)}"


def said(node: Node) -> str:
    named = f" {node.name}" if node.name else ""
    scale = f" of scale {node.scale}" if node.logical == "decimal" else ""
    return f"{node.logical or node.kind}{named}{scale}"


def default(node: Node, given: Any, *, raw: bool = False) -> Any:
    """A default's value, from JSON: of a union that of its first branch that fits."""
    if node.kind == "union":
        node = next((part for part in node.parts if _is_of(part, given)), node.parts[0])
    if node.kind == "record":
        return {
            each.name: default(each.node, given.get(each.name, each.default))
            for each in node.fields
        }
    if node.kind == "array":
        return [default(node.parts[0], each) for each in given]
    if node.kind == "map":
        return {key: default(node.parts[0], each) for key, each in given.items()}
    if node.kind in {"bytes", "fixed"}:
        given = given.encode("latin-1")
    if node.kind in {"float", "double"} and given is not None:
        given = float(given)
    value = shown(node, "given", raw=raw)
    return eval(value, dict(wire.__dict__), {"given": given}) if value else given


def _is_of(node: Node, given: Any) -> bool:
    kinds: dict[str, Any] = {
        "null": type(None),
        "boolean": bool,
        "int": int,
        "long": int,
        "float": (int, float),
        "double": (int, float),
        "array": list,
        "map": dict,
        "record": dict,
    }
    return isinstance(given, kinds.get(node.kind, str))
