"""Document: the text of a JSON Schema, with its references followed and nulls taken apart."""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple, NoReturn
from urllib.parse import unquote

from spark_jobs.errors import SpecInvalid

OWN: Final = "x-sluice"
"""The key with what JSON Schema cannot say of a field: attributes of Field, by their names."""
DRAFTS: Final = ("draft-06", "draft-07", "draft/2019-09", "draft/2020-12")
SAID: Final = frozenset(
    (
        "$schema",
        "$id",
        "$comment",
        "$anchor",
        "title",
        "description",
        "default",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        "$defs",
        "definitions",
        OWN,
    )
)
"""Keywords that refuse no value."""
JSON_TYPES: Final = ("array", "boolean", "integer", "null", "number", "object", "string")
REPLACED: Final = SAID | {"type", "format"}
"""Keywords that say nothing beside a type of Sluice's own."""
SHAPES: Final[dict[str, tuple[type, ...]]] = {
    **dict.fromkeys(("enum", "required", "allOf", "anyOf", "oneOf"), (list,)),
    **dict.fromkeys(("properties", OWN), (dict,)),
    **dict.fromkeys(("pattern", "format"), (str,)),
    "type": (str, list),
}
"""Keyword -> what its value must be."""

Schema = dict[str, Any]


class Part(NamedTuple):
    """A schema within the document."""

    schema: Schema
    pointer: str
    nullable: bool = False
    within: tuple[str, ...] = ()
    """Pointers of the schemas that lead to it by reference."""

    def under(self, *keys: str | int) -> str:
        """The pointer of something in it."""
        tokens = (str(key).replace("~", "~0").replace("/", "~1") for key in keys)
        return "/".join((self.pointer, *tokens))

    @property
    def own(self) -> Schema:
        """What it says to Sluice alone."""
        return _own(self.schema)


def refuse(pointer: str, why: str, remedy: str) -> NoReturn:
    """Raise SpecInvalid."""
    raise SpecInvalid.json_schema_refused(pointer=pointer or "/", why=why, remedy=remedy)


class Document:
    """One JSON Schema."""

    def __init__(self, text: str) -> None:
        try:
            self._whole = json.loads(text)
        except (ValueError, RecursionError) as error:
            refuse("", f"is no JSON: {error}", "Give the text of a JSON Schema")
        draft = self._whole.get("$schema", "") if isinstance(self._whole, dict) else ""
        if draft and not any(each in str(draft) for each in DRAFTS):
            refuse("/$schema", f"is {draft!r}", "Write it in draft 2020-12, or 7")

    @property
    def root(self) -> Part:
        """The whole of it."""
        return self.part(self._whole, "")

    def inner(self, part: Part, *keys: str) -> Part:
        """One of the schemas in this one."""
        given: Any = part.schema
        for key in keys:
            given = given[key]
        return self.part(given, part.under(*keys), part.within)

    def part(self, given: Any, pointer: str, within: tuple[str, ...] = ()) -> Part:
        """A schema without references, compositions and nulls. Any: it is JSON."""
        if given is True:
            given = {}
        if not isinstance(given, dict):
            refuse(pointer, "is no schema that a value can fit", "Give it a type")
        _refuse_shape(given, pointer)
        if (own := _own(given)).get(
            "format"
        ) == "json" and "type" in own:  # it may be anything, so nothing of it is lost
            return Part(_without_null(given), pointer, self._says_null(given), within)
        for key in ("$ref", "$dynamicRef", "$recursiveRef"):
            if key in given:
                others = {name: each for name, each in given.items() if name != key}
                to, where = self._referred(given[key], f"{pointer}/{key}")
                if where in within:
                    refuse(where, "refers to itself", f"Declare it as text: {_json_hint()}")
                both = _merged([others, to], pointer) if {*others} - SAID else _over(to, others)
                return self.part(both, where, (*within, where))
        if "allOf" in given:
            others = {name: each for name, each in given.items() if name != "allOf"}
            parts = [
                self.part(each, f"{pointer}/allOf/{n}", within)
                for n, each in enumerate(given["allOf"])
            ]
            merged = _merged([others, *(part.schema for part in parts)], pointer)
            again = self.part(merged, pointer, within)
            typed = [part.nullable for part in parts if {"type", "enum"} & part.schema.keys()]
            nulls = bool(typed) and all(typed) and _may_be_null(others)
            return again._replace(nullable=again.nullable or nulls)
        return self._not_null(given, pointer, within)

    def _of_one_form(self, given: Schema, key: str, pointer: str, within: tuple[str, ...]) -> Part:
        others = {name: each for name, each in given.items() if name != key}
        rest = [(n, each) for n, each in enumerate(given[key]) if not _is_null(each)]
        if len(rest) > 1 and "type" in _own(given):
            rest = self._without_types(rest, f"{pointer}/{key}", within)
        if len(rest) != 1:
            refuse(f"{pointer}/{key}", "has several forms", f"Choose one, or {_json_hint()}")
        [(n, only)] = rest
        found = self.part(only, f"{pointer}/{key}/{n}", within)
        whole = _over(found.schema, others) if not {*others} - SAID else None
        merged = whole or _merged([others, found.schema], pointer)
        replaced = "type" in _own(given) and any(self._says_null(each) for each in given[key])
        nulls = replaced or any(map(_is_null, given[key])) or found.nullable
        again = self.part(merged, found.pointer, within)
        return again._replace(nullable=again.nullable or (nulls and _may_be_null(others)))

    def _not_null(self, given: Schema, pointer: str, within: tuple[str, ...]) -> Part:
        for key in ("anyOf", "oneOf"):
            if key in given:
                return self._of_one_form(given, key, pointer, within)
        kinds = _list(given.get("type"))
        values = _values(given)
        nullable = None in values if values else "null" in kinds
        left = [kind for kind in kinds if kind != "null"]
        if unknown := [kind for kind in kinds if kind not in JSON_TYPES]:
            refuse(f"{pointer}/type", f"is {unknown[0]!r}, no type of JSON Schema", "Correct it")
        if "type" in given and not left:
            refuse(f"{pointer}/type", "is null alone", "Leave the field out")
        if "enum" in given and "const" in given:
            refuse(f"{pointer}/const", "is beside an enum", "Say it once")
        if _values(given) == [None] * len(values) and ("enum" in given or "const" in given):
            named = "enum" if "enum" in given else "const"
            refuse(f"{pointer}/{named}", "has no value but null", "Leave the field out")
        if {*left} == {"integer", "number"}:
            left = ["number"]
        if len(left) > 1 and "type" not in _own(given):
            refuse(
                f"{pointer}/type", f"is one of {', '.join(left)}", f"Choose one, or {_json_hint()}"
            )
        schema = given | ({"type": left[0]} if left else {})
        return Part(_without_null(schema), pointer, nullable, within)

    def _without_types(
        self, forms: list[tuple[int, Any]], pointer: str, within: tuple[str, ...]
    ) -> list[tuple[int, Any]]:
        """The first for all, if they differ in nothing but what a type of Sluice's own replaces."""
        parts = [self.part(each, f"{pointer}/{n}", within) for n, each in forms]
        return forms if any(part.schema.keys() - REPLACED for part in parts) else [(0, {})]

    def _says_null(self, given: Any, within: tuple[str, ...] = ()) -> bool:
        """Whether null is one of the values that it names."""
        if not isinstance(given, dict):
            return False
        _refuse_shape(given, "")
        if "$ref" in given and given["$ref"] not in within:
            to, _ = self._referred(given["$ref"], "/$ref")
            if self._says_null(to, (*within, given["$ref"])):
                return True
        forms = [*given.get("anyOf", ()), *given.get("oneOf", ())]
        values = _values(given)
        own = None in values if values else "null" in _list(given.get("type"))
        return own or any(self._says_null(each, within) for each in forms)

    def _referred(self, reference: object, pointer: str) -> tuple[Schema, str]:
        text = unquote(str(reference))
        if not text.startswith("#"):
            refuse(pointer, f"is {text!r}, which is not in it", "Put that schema into its $defs")
        at, path = self._whole, text[1:]
        if path and not path.startswith("/"):
            found = _anchored(self._whole, path, "")
            if found is None:
                refuse(pointer, f"is {text!r}, and nothing has this $anchor", "Correct it")
            return found
        for token in path.split("/")[1:]:
            key = token.replace("~1", "/").replace("~0", "~")
            try:
                at = at[int(key)] if isinstance(at, list) else at[key]
            except (KeyError, IndexError, ValueError, TypeError):
                refuse(pointer, f"is {text!r}, and nothing is there", "Correct it")
        return at if isinstance(at, dict) else ({} if at is True else {"not": {}}), path


def _json_hint() -> str:
    return f'add "{OWN}": {{"type": "string", "format": "json"}}'


def _own(schema: Schema) -> Schema:
    found: Schema = schema.get(OWN, {})
    return found


def _refuse_shape(schema: Schema, pointer: str) -> None:
    for key, kinds in SHAPES.items():
        if key in schema and not isinstance(schema[key], kinds):
            refuse(f"{pointer}/{key}", f"is {schema[key]!r}", "Write it as JSON Schema has it")


def _may_be_null(schema: Schema) -> bool:
    """Whether its own type and values let null be."""
    values = _values(schema)
    return "null" in _list(schema.get("type", "null")) and (not values or None in values)


def _list(given: object) -> list[Any]:
    return given if isinstance(given, list) else [] if given is None else [given]


def _values(schema: Schema) -> list[Any]:
    return schema["enum"] if "enum" in schema else [schema[k] for k in ("const",) if k in schema]


def _without_null(schema: Schema) -> Schema:
    """With its values under enum, but for null."""
    rest = {key: each for key, each in schema.items() if key not in ("enum", "const")}
    values = [each for each in _values(schema) if each is not None]
    return rest | ({"enum": values} if values else {})


def _is_null(schema: object) -> bool:
    return isinstance(schema, dict) and (
        schema.get("type") == "null"
        or schema.get("enum") == [None]
        or ("const" in schema and schema["const"] is None)
    )


def _over(to: Schema, others: Schema) -> Schema:
    """A schema with remarks of its own, and what they do not say to Sluice of it."""
    own = {OWN: _own(to) | _own(others)} if OWN in to or OWN in others else {}
    return to | others | own


def _merged(parts: list[Schema], pointer: str) -> Schema:
    found: Schema = {}
    for part in parts:
        for key, value in part.items():
            if key == OWN:
                found[key] = value | found.get(key, {})
            elif key not in found or key in SAID:
                found.setdefault(key, value)
            elif key == "required":
                found[key] = [*dict.fromkeys([*found[key], *value])]
            elif key == "properties" and all(
                found[key].get(name, each) == each for name, each in value.items()
            ):
                found[key] = {**found[key], **value}
            elif found[key] != value:
                refuse(f"{pointer}/{key}", "is said twice, in two ways", "Say it once")
    return found


def _anchored(at: Any, name: str, pointer: str) -> tuple[Schema, str] | None:
    if isinstance(at, dict):
        if at.get("$anchor") == name or at.get("$id") == f"#{name}":
            return at, pointer
        parts = at.items()
    elif isinstance(at, list):
        parts = dict(enumerate(at)).items()
    else:
        return None
    found = (_anchored(each, name, f"{pointer}/{key}") for key, each in parts)
    return next((each for each in found if each), None)
