"""JSON tree: the objects that the places of a topic's fields make, as classes of msgspec, which
decode a record at once, and the way from a record to each place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from spark_jobs.decode.formats import REFUSED
from spark_jobs.decode.json.leaf import or_null
from spark_jobs.values.path import Member

if TYPE_CHECKING:
    from spark_jobs.decode.json.leaf import Leaf
    from spark_jobs.values.path import Path


class Step(NamedTuple):
    """From an object or an array to what is in it."""

    name: str
    """The attribute, of an object."""
    place: int | Member | None
    """Of an array."""
    sure: bool
    """Whether what it starts from is never null."""
    decode: Callable[[bytes], Any] | None = None
    """What reads that value of an array: the others may be of any type."""

    @property
    def reads(self) -> bool:
        """Whether it goes nowhere, and reads a value that other fields read otherwise."""
        return self.place is None and self.decode is not None


# Both begin with what a search finds fast.
_LONG = re.compile(rb"\.(?<=[0-9]:[0-9]{2}\.)[0-9]{7}")
_ESCAPED = re.compile(rb"\\u00[23]")
"""A digit, a colon or a point, written as \\u002e."""

Decode = Callable[[bytes], Any]
"""The bytes of a record -> an instance of a class of msgspec, which mypy does not know."""
Cut = tuple["Sequence[Step]", Callable[[Any], Any]]
"""The way to a value with times, and what makes it of their texts."""


def may_have(value: bytes) -> bool:
    """Whether a time in the JSON text may have more than six digits of a second; some texts without
    one are taken for such.
    """
    return bool(_LONG.search(value) or (b"\\u00" in value and _ESCAPED.search(value)))


class LongFractions:
    """Decodes values that may have such times, at a third of msgspec's speed."""

    def __init__(self, as_text: Decode, times: Sequence[Cut], rounding: Decode) -> None:
        """`as_text` decodes a value so that times are text, `rounding` so that msgspec rounds them.
        None of the ways passes through an array.
        """
        self._as_text = as_text
        self._times = times
        self._rounding = rounding

    def strict(self, value: bytes) -> Any:
        """The decoded value, its times cut off."""
        return self.decode(value) if self._times and may_have(value) else self._rounding(value)

    def decode(self, value: bytes) -> Any:
        """What `as_text` decodes, with times in place of their texts.

        Raises what `rounding` raises, with the name of the field.
        """
        try:
            found = self._as_text(value)
            for steps, cut in self._times:
                found = _replaced(found, steps, cut)
        except (msgspec.DecodeError, ValueError):
            return self._rounding(value)
        return found


def _replaced(value: Any, steps: Sequence[Step], cut: Callable[[Any], Any]) -> Any:
    """The value, with cut(what is at the end of the way) in its place."""
    if not steps:
        return cut(value)
    at = value
    for step in steps[:-1]:
        at = getattr(at, step.name)
        if at is None:
            return value
    name = steps[-1].name
    if (text := getattr(at, name)) is not None:
        setattr(at, name, cut(text))
    return value


@dataclass
class Node:
    """An object, an array or a value of a record."""

    required: bool = False
    """Whether msgspec refuses an object without it."""
    leaf: Leaf | None = None
    more: list[Leaf] = field(default_factory=list)
    """Of other fields that have the same value in another type or format."""
    keys: dict[str, Node] = field(default_factory=dict)
    places: dict[int | Member, Node] = field(default_factory=dict)

    def put(self, path: Path, leaf: Leaf, *, required: bool) -> None:
        """Add a value at the end of a path."""
        at = self
        for step in path:
            at.required |= required
            at = (
                at.keys.setdefault(step, Node())
                if isinstance(step, str)
                else at.places.setdefault(step, Node())
            )
        at.required |= required
        known = [each for each in (at.leaf, *at.more) if each]
        if not any(each.annotation == leaf.annotation for each in known):
            at.more += known[:1] and [leaf]
            at.leaf = at.leaf or leaf

    def annotation(self, *, times: bool) -> Any:
        """For msgspec; without `times` these are text."""
        if self.leaf:
            one = self.leaf.annotation if times else self.leaf.as_text
            return msgspec.Raw if self.more else one
        if self.places:
            return list[msgspec.Raw]
        fields = [
            (name, of) if node.required else (name, or_null(of), None)
            for name, node in self._named()
            for of in [node.annotation(times=times)]
        ]
        # gc=False: a record has no reference cycles, and the garbage collector would traverse
        # millions of records.
        names = dict(zip((name for name, _ in self._named()), self.keys, strict=True))
        return msgspec.defstruct("Record", fields, kw_only=True, gc=False, rename=names)

    def nulls(self, made: Any) -> Any:
        """An instance of the class `made`, all of its values null."""
        values = dict[str, Any]()
        for info, (name, node) in zip(msgspec.structs.fields(made), self._named(), strict=True):
            values[name] = node.nulls(info.type) if node.required and node.keys else None
        return made(**values)

    def steps(self, path: Path, leaf: Leaf | None = None) -> list[Step]:
        """The way from a record to the end of a path, where `leaf` reads the value."""
        at, sure, found = self, True, list[Step]()
        for step in path:
            if isinstance(step, str):
                found.append(Step(f"f{[*at.keys].index(step)}", None, sure))
                at = at.keys[step]
                sure = sure and at.required
            else:
                at = at.places[step]
                found.append(Step("", step, sure, at.element()))
                sure = False
        return [*found, Step("", None, False, Node(leaf=leaf).element())] if at.more else found

    def times(self) -> list[Cut]:
        """The ways to values with times, none of them through an array."""
        return [(self.steps(path), leaf.cut) for path, leaf in self.leaves(()) if leaf.has_times]

    def element(self) -> Callable[[bytes], Any]:
        """What decodes it alone."""
        whole = msgspec.json.Decoder(or_null(self.annotation(times=True))).decode
        as_text = msgspec.json.Decoder(or_null(self.annotation(times=False))).decode
        return LongFractions(as_text, self.times(), whole).strict

    def leaves(self, path: Path) -> Iterator[tuple[Path, Leaf]]:
        """The values below it, which is at this path, and where they are; none of an array."""
        if self.leaf and not self.more:
            yield path, self.leaf
        for key, node in self.keys.items():
            yield from node.leaves((*path, key))

    def _named(self) -> Iterable[tuple[str, Node]]:
        return ((f"f{number}", node) for number, node in enumerate(self.keys.values()))


def walk(values: Sequence[Any], steps: Sequence[Step], wrong: dict[int, str]) -> list[Any]:
    """The end of the way for each value; None where something on it is missing or null. Of a value
    that does not decode `wrong` gets why.
    """
    found = [*values]
    for step in steps:
        if step.decode is not None:
            found = _read(found, step, wrong)
        elif step.sure:
            found = list(map(attrgetter(step.name), found))
        else:
            get = attrgetter(step.name)
            found = [None if each is None else get(each) for each in found]
    return found


def _read(values: Sequence[Any], step: Step, wrong: dict[int, str]) -> list[Any]:
    """One value of each array; or each value, as one of its fields reads it."""
    found = list[Any]()
    assert step.decode is not None
    for index, value in enumerate(values):
        read = None
        try:
            raw = value if step.place is None or value is None else _member(value, step.place)
            if raw is not None:
                read = step.decode(bytes(raw))
        except REFUSED as error:
            wrong.setdefault(index, str(error))
        found.append(read)
    return found


def _member(array: Sequence[Any], at: int | Member) -> Any:
    """The raw JSON of one of its values; None if there is none."""
    if isinstance(at, int):
        return array[at] if len(array) > at else None
    known, written = _with_key(at.key), msgspec.json.encode(at.text)
    for raw in array:
        text = bytes(raw)
        if written in text or b"\\" in text:  # else no text of it is that one
            try:
                found = known(text)
            except REFUSED:  # its other values may be of any type
                continue
            if found.key == at.text:
                return raw
    return None


@cache
def _with_key(key: str) -> Callable[[bytes], Any]:
    made = msgspec.defstruct("Member", [("key", Any, None)], rename={"key": key})
    return msgspec.json.Decoder(made).decode


def joined(steps: Sequence[Step]) -> list[Step]:
    """The same way, with objects that are never null passed by one attribute getter.

    >>> way = joined([Step("f0", None, True), Step("f1", None, True), Step("f0", None, False)])
    >>> [(step.name, step.sure) for step in way]
    [('f0.f1', True), ('f0', False)]
    """
    found = list[Step]()
    for step in steps:
        if (
            found
            and found[-1].sure
            and step.sure
            and found[-1].decode is None
            and step.decode is None
        ):
            found[-1] = found[-1]._replace(name=f"{found[-1].name}.{step.name}")
        else:
            found.append(step)
    return found
