"""A field of a record: its column and type, where it is in the record, and what it may be."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, Field as Described, model_validator

from spark_jobs.spec.fields.local_time import Local, directives
from spark_jobs.spec.model import Model, refuse
from spark_jobs.values import path as paths, type_tree
from spark_jobs.values.field_types import FIELD_TYPES, field_type
from spark_jobs.values.path import Path


def is_name(given: str) -> bool:
    """Of a pipeline or a field."""
    return re.fullmatch(r"[a-z][a-z0-9_]{0,62}", given) is not None


def _name(given: str) -> str:
    if not is_name(given):
        refuse(
            "name",
            given,
            "a name becomes a folder, a column and a DAG id",
            "Use lower-case letters, digits and underscores, a letter first, at most 63; a field "
            "says by path= which key it is: Field(name='event_id', path='eventId')",
        )
    return given


def _type(given: str) -> str:
    try:
        return type_tree.as_text(type_tree.parsed(given))
    except ValueError as wrong:
        refuse(
            "type",
            given,
            f"Sluice decodes no such type: {wrong}",
            f"Use one of {', '.join(type_tree.SCALARS)}, decimal(p,s), array<...>, "
            "map<string,...>, struct<name:type,...>",
        )


def _paths(given: str | tuple[str, ...] | None) -> str | tuple[str, ...] | None:
    if isinstance(given, tuple):
        return tuple(map(_path, given))
    return None if given is None else _path(given)


def _path(given: str) -> str:
    try:
        found = paths.parsed(given)
    except ValueError as wrong:
        how = "Write it as 'data.user.id', 'tags[0]', 'tags[key=color].value' or '\"a.b\"'"
        refuse("path", given, str(wrong), how)
    if not paths.readable(found):
        refuse(
            "path",
            given,
            "no decoder reads a key with a quote, a backslash or a control character",
            "Declare the object that it is in, with type='string' and format='json'",
        )
    return paths.as_text(found)


Name = Annotated[str, AfterValidator(_name)]
Part = Literal["value", "key", "header", "topic", "partition", "offset", "timestamp", "envelope"]
OF_KAFKA: Final[dict[Part, str]] = {
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
}
"""Parts that are one value -> its type."""
OF_HEADERS: Final = ("array<string>", "array<binary>")
"""Types of a header that may come several times. Of another type the last one counts."""
EPOCHS: Final = ("s", "ms", "us", "ns")
TEXTS: Final = ("text",)
FORMATS: Final = {
    "string": ("json",),
    **dict.fromkeys(("smallint", "int", "bigint", "float", "double", "boolean"), TEXTS),
    "decimal": ("text", "base64"),
    "timestamp": EPOCHS,
    "timestamp_ntz": EPOCHS,
    "date": ("days",),
}
"""Kind of type -> what `format` may be, beside the usual one."""
RANGED: Final = ("smallint", "int", "bigint", "float", "double", "decimal", "date", "timestamp")
TIMES: Final = ("timestamp", "timestamp_ntz", "date")
DAY: Final = frozenset("Ymbd")
"""Directives of a date."""


class Field(Model):
    """One field of a record, or one column of an output or a state, which has no path and no
    rule.
    """

    name: Name
    """the column, and the key unless there is a path"""
    type: Annotated[str, AfterValidator(_type)]
    """a Spark SQL type, nested ones too"""
    path: Annotated[str | tuple[str, ...] | None, AfterValidator(_paths)] = None
    """where it is in the record, in exactly these letters: 'data.user.id', 'tags[0]',
    'data."user.agent"', 'tags[key=color].value' (the first object of the array with that text at
    that key); of several the first with a value; default: the name
    """
    part: Part = "value"
    """the part of the record that it is in; of the value, or of an envelope what is beside its row.
    A header's path is its name; if it comes several times the last one counts, and array<string> or
    array<binary> has all of them
    """
    up: int = Described(default=0, ge=0, le=9)
    """with `each`: how many lists further out it is; 1: in what the list is in"""
    format: str | Local | None = None
    """how it is written, if not as usual. A time: 's', 'ms', 'us', 'ns' since 1970, or Local(...);
    a date: 'days' or Local(...); a number: 'text'; a decimal: 'base64' too; a string: 'json', of
    any value its JSON
    """
    required: bool = True
    """whether a missing or null value makes the record malformed"""
    one_of: tuple[str | int, ...] = ()
    """values that it may have; another makes the record malformed"""
    pattern: str | None = None
    """a regular expression of Python that the whole text must match"""
    at_least: int | float | str | None = None
    """the smallest value; a time or a decimal as text"""
    at_most: int | float | str | None = None
    """the largest value; a time or a decimal as text"""
    about: str = ""
    """its meaning and unit"""
    personal: bool = False
    """whether it tells of a person: its values are then in no statistics of Delta's logs, and in no
    reason, report, sample or log
    """

    @property
    def tree(self) -> type_tree.Type:
        """Its type, in parts."""
        return type_tree.parsed(self.type)

    @property
    def kind(self) -> str:
        """Its type without digits and members: decimal, array."""
        return re.split(r"[(<]", self.type, maxsplit=1)[0]

    @property
    def paths(self) -> tuple[Path, ...]:
        """Where it is, in the order in which it is looked for."""
        given = (self.path,) if isinstance(self.path, str) else self.path
        return tuple(map(paths.parsed, given)) if given else ((self.name,),)

    @property
    def plain(self) -> bool:
        """Whether it is but a name and a type."""
        bare = Field(name=self.name, type=self.type, required=self.required, about=self.about)
        return self.model_copy(update={"personal": False}) == bare

    @property
    def parted(self) -> bool:
        """Whether its values have parts, which no text has."""
        return isinstance(self.tree, type_tree.Array | type_tree.Map | type_tree.Struct)

    @property
    def ruled(self) -> bool:
        """Whether a rule limits its values."""
        return bool(self.one_of) or any(
            rule is not None for rule in (self.pattern, self.at_least, self.at_most)
        )

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.path == () or not isinstance(self.paths[0][0], str):
            refuse("path", self.path, "a record is an object", "Begin with a key")
        self._refuse_part()
        self._refuse_format()
        self._refuse_rules()
        return self

    def _refuse_part(self) -> None:
        wanted = OF_KAFKA.get(self.part)
        if wanted and (self.type != wanted or self.path is not None or self.format is not None):
            refuse(
                "part",
                self.part,
                f"Kafka gives it as one value, of type {wanted}",
                f"Write Field(name={self.name!r}, type={wanted!r}, part={self.part!r})",
            )

        if self.part == "header":
            self._refuse_header()

    def _refuse_header(self) -> None:
        if any(len(path) > 1 for path in self.paths):
            refuse(
                "path", self.path, "a header has no parts", "Write its name; with dots as '\"a.b\"'"
            )
        if self.parted and self.type not in OF_HEADERS:
            refuse("type", self.type, "a header is text, or bytes", "Read it as string or binary")
        if self.format is not None and self.kind in ("string", "binary", "array"):
            refuse("format", self.format, "a header's bytes are read as they are", "Leave it out")

    def _refuse_format(self) -> None:
        given = self.format
        if isinstance(given, Local):
            self._refuse_local(given)
        elif given is not None and given not in FORMATS.get(self.kind, ()):
            known = ", ".join(map(repr, FORMATS.get(self.kind, ()))) or "none"
            timed = self.kind in TIMES
            known += ", Local(...)" if timed else ""
            usual = "RFC 3339" if timed else "the usual one"
            refuse(
                "format",
                given,
                f"a {self.kind} is not written so",
                f"Its formats are: {known}; leave it out for {usual}",
            )

    def _refuse_local(self, given: Local) -> None:
        zoned = given.zone is not None or given.tells_zone
        if self.kind not in TIMES:
            refuse("format", given, f"a {self.kind} is no time", "Leave it out")
        if self.kind == "timestamp" and not zoned:
            refuse(
                "format",
                given,
                "nobody knows in which zone its clock is",
                "Add the zone: Local(zone='Europe/Berlin'), or %z",
            )
        if self.kind != "timestamp" and zoned:
            refuse("format", given, f"a {self.kind} has no zone", "Leave it out")
        if self.kind == "date" and not {*directives(given.pattern)} <= DAY:
            refuse("format", given, "a date has no time of day", "Use type timestamp_ntz")

    def _has(self, value: str | int) -> bool:
        """Whether its type, string or a whole number, has the value."""
        if isinstance(value, str) != (self.kind == "string"):
            return False
        try:
            FIELD_TYPES[self.kind].parse(str(value).encode().decode())
        except ValueError:  # out of range, or half of a surrogate pair
            return False
        return True

    def _refuse_one_of(self) -> None:
        if self.one_of and self.kind not in ("string", "smallint", "int", "bigint"):
            refuse("one_of", self.one_of, "it is for texts and whole numbers", "Leave it out")
        for each in self.one_of:
            if not self._has(each):
                why = f"the type {self.type} has no such value"
                refuse("one_of", each, why, "Give values of its type")

    def _refuse_rules(self) -> None:
        self._refuse_one_of()
        if self.pattern is not None:
            if self.kind != "string":
                refuse("pattern", self.pattern, "it is for texts", "Leave it out")
            try:
                re.compile(self.pattern)
            except re.error as wrong:
                refuse("pattern", self.pattern, str(wrong), "Correct it")
        ends = list[Any]()
        for name, limit in (("at_least", self.at_least), ("at_most", self.at_most)):
            if limit is None:
                continue
            found = field_type(self.type)
            if found is None or self.kind not in RANGED:
                refuse(name, limit, f"a {self.kind} has no range", "Leave it out")
            try:
                ends.append(found.parse(str(limit)))
            except (ValueError, ArithmeticError):
                refuse(name, limit, f"it is no {self.type}", f"Write it as {found.example}")
        if ends != sorted(ends):
            refuse("at_least", self.at_least, "it is more than at_most", "Exchange them")
