"""Reading: the fields that a JSON Schema declares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from spark_jobs.errors import SpecInvalid
from spark_jobs.spec.fields.field import Field
from spark_jobs.spec.fields.local_time import Local
from spark_jobs.spec.json_schema.document import OWN, Document, refuse
from spark_jobs.spec.json_schema.rules import held_by, rules_of
from spark_jobs.spec.json_schema.types import NOT_HELD, OF_A_MEMBER, Types, named
from spark_jobs.values import path as paths, type_tree
from spark_jobs.values.path import snake

if TYPE_CHECKING:
    from spark_jobs.spec.json_schema.document import Part
    from spark_jobs.values.path import Path

_LISTS: Final = ("path", "one_of")


def from_json_schema(text: str, ignored: Sequence[str] = ()) -> tuple[Field, ...]:
    """The fields of a topic whose values a JSON Schema describes, of draft 7 or 2020-12.

    An object's properties are fields of their own; an object in an array is a struct. A name is its
    path in snake_case. `ignored` are keywords that no field holds, or JSON pointers of them, which
    may stand all the same.

    Never held: `additionalProperties: false` (other keys are ignored), that an optional property is
    not null, and `required` below an optional object. 1.0 is no integer.

    Raises SpecInvalid, which names the pointer of what cannot be a field.
    """
    return _Reader(Document(text), ignored).fields()


class _Reader:
    def __init__(self, document: Document, ignored: Sequence[str]) -> None:
        self._document = document
        self._ignored = {*ignored}
        self._types = Types(document, self._refuses)

    def fields(self) -> tuple[Field, ...]:
        root = self._document.root
        if named(root) != "object" or not root.schema.get("properties"):
            refuse(root.pointer, "describes no object with properties", "Describe a whole record")
        found = [*self._properties(root, (), required=True)]
        seen = dict[str, str]()
        for field, pointer in found:
            if other := seen.setdefault(field.name, pointer) != pointer and seen[field.name]:
                named_ = f'"{OWN}": {{"name": "..."}}'
                refuse(pointer, f"has the name {field.name}, as {other} has", f"Add {named_}")
        return _ordered([field for field, _ in found], root.own)

    def _properties(self, part: Part, path: Path, *, required: bool) -> Iterator[tuple[Field, str]]:
        """The fields of an object's properties, each with its pointer."""
        for keyword in (*NOT_HELD, "enum"):
            self._refuses(part, keyword)
        needed = part.schema.get("required", ())
        if not {*needed} <= part.schema["properties"].keys():
            self._refuses(part, "required")
        if part.schema.get("additionalProperties", True) not in (True, False, {}):
            self._refuses(part, "additionalProperties")
        for key in part.schema["properties"]:
            each = self._document.inner(part, "properties", key)
            sure = required and key in needed and not each.nullable
            whole = "type" not in each.own and named(each) == "object"
            if whole and each.schema.get("properties"):
                yield from self._properties(each, (*path, key), required=sure)
            else:
                yield self._field(each, (*path, key), required=sure), each.pointer

    def _field(self, part: Part, path: Path, *, required: bool) -> Field:
        own = part.own
        kind = self._types.of(part) if "type" not in own else None
        type_ = kind.type if kind else str(own["type"])
        try:
            type_tree.parsed(type_)
        except ValueError as wrong:
            refuse(part.under(OWN), f"has the type {type_!r}: {wrong}", "Correct it")
        ruled = not (own.get("format") or (kind and kind.format))
        held = held_by(type_, part.schema) if ruled else frozenset[str]()
        for keyword in (*NOT_HELD, *OF_A_MEMBER):
            if keyword not in held:
                self._refuses(part, keyword)
        if not kind and own.get("format") != "json":
            self._types.refuse_within(part)
        name = str(own.get("name") or snake(path))
        where = paths.as_text(path)
        rules = rules_of(part, type_) if ruled else {}
        given: dict[str, Any] = {
            "name": name,
            "type": type_,
            "format": kind and kind.format,
            "path": None if (name,) == path else where,
            "required": required,
            "about": part.schema.get("description") or part.schema.get("title") or "",
            **rules,
            **{key: each for key, each in own.items() if key != "pattern" or key not in rules},
        }
        return made(given, part.pointer)

    def _refuses(self, part: Part, keyword: str) -> None:
        pointer = part.under(keyword)
        if keyword in part.schema and not {keyword, pointer} & self._ignored:
            refuse(
                pointer,
                "is held by no field",
                f"Leave it out, or let it stand: from_json_schema(..., ignored=({pointer!r},))",
            )


def made(given: dict[str, Any], pointer: str) -> Field:
    """The field of attributes as JSON has them."""
    values: dict[str, Any] = {
        name: tuple(value) if name in _LISTS and isinstance(value, list) else value
        for name, value in given.items()
    }
    try:
        if isinstance(values.get("format"), dict):
            values["format"] = Local(**values["format"])
        return Field(**values)
    except SpecInvalid as error:
        refuse(pointer, f"is no field: {error.what}", f"Say it in {OWN}: {{...}} there")


def _ordered(fields: list[Field], own: dict[str, Any]) -> tuple[Field, ...]:
    """With those that JSON Schema cannot describe, in the order that the document gives."""
    others = [made(each, f"/{OWN}/others/{n}") for n, each in enumerate(own.get("others", ()))]
    names = own.get("order", ())
    found = {field.name: field for field in (*fields, *others)}
    known = [name for name in names if name in found]
    return tuple(found[name] for name in dict.fromkeys([*known, *found]))
