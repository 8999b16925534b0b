"""Leaf: what a sample has at one path of its JSON objects, and the field that this proposes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple

from spark_jobs.draft.tags import of_tags
from spark_jobs.draft.written_time import FEW, epoch, is_written_out, written
from spark_jobs.spec import Local
from spark_jobs.values.path import Path

DEEPEST: Final = 5
MOST: Final = 500
"""Fields of a draft. More is nothing that a person reads."""
WIDEST: Final = 40
"""Keys of one object over all records: with more, they are values and no names."""
_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:?\d\d)")
_LOCAL = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?")
_NOTES = (
    (re.compile(r"-?\d+\.\d+"), "numbers in text? type='decimal(12,2)', format='text'"),
    (re.compile(r"-?(0|[1-9]\d{0,8})"), "numbers in text? type='bigint', format='text'"),
    (re.compile(r"\d\d\.\d\d\.\d{4}"), "a date? type='date', format=Local(pattern='%d.%m.%Y')"),
    (re.compile(r"\d\d/\d\d/\d{4}"), "a date? type='date', format=Local(pattern='%d/%m/%Y')"),
    (re.compile(r"-?[\d.]*\d,\d+"), "numbers with a comma? No format reads them"),
    (re.compile(r"\s*(\{.*\}|\[.*\])\s*", re.DOTALL), "JSON in a text? No path leads into it"),
    (
        re.compile(r"([\w+/]{4})*[\w+/]{2}(==|[\w+/]=)"),
        "a decimal? type='decimal(12,2)', format='base64'",
    ),
)
_EPOCH = re.compile(r"\d{10,19}(\.\d+)?")
_MONEY = re.compile(
    r"(^|_)(amount|price|total|costs?|sum|fare|balance|fees?|tax|revenue|salary)(_|$)"
)
INEXACT = "money? decimal(12,2) is exact"
MOST_PLACES: Final = 4
"""Digits behind the point of an amount of money: with more it has been computed."""
MANY, SYMBOLS = 200, 8
"""Of so many whole numbers so few different ones may be names."""
PRECISIONS: Final = (12, 18, 38)
ID: Final = re.compile(r"(^|_)(id|uid|uuid|guid|ulid)$")
VERSION: Final = re.compile(r"(^|_)(version|firmware|release|build)(_|$)")
"""What is called so is no number, though it looks like one at times."""
_OF_CENTS = "money? Whole, or in cents"
SEVERAL = "values of several types in the sample"
_OTHERWISE = {0: "null in every record of the sample", 1: ""}
"""Types that values have -> what to look at."""
LARGEST: Final = 2**63
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


class Leaf(NamedTuple):
    """One path, over all records of the sample."""

    path: Path
    column: list[Any]
    """Of each record the value; None where it is missing or null."""

    @property
    def values(self) -> list[Any]:
        """Those that are there."""
        return [value for value in self.column if value is not None]

    @property
    def lacking(self) -> int:
        """Records without it."""
        return self.column.count(None)

    @property
    def name(self) -> str:
        """Of its last key, in snake_case."""
        return snake(str([part for part in self.path if isinstance(part, str)][-1]))

    @property
    def whose(self) -> str:
        """Likewise, of the key above where the last one is `value`, as of an amount."""
        above = [part for part in self.path[:-1] if isinstance(part, str)]
        return snake(above[-1]) if above and self.name == "value" else self.name


class Kind(NamedTuple):
    """How a field is declared."""

    type: str
    format: str | Local | None = None
    note: str = ""
    """To look at."""


def leaves(objects: Sequence[Mapping[str, Any]]) -> list[Leaf]:
    """In the order in which records have them: of more than MOST the most frequent ones."""
    folded = _folded(objects)
    counted = Counter(path for each in objects for path, _ in _within(each, (), folded))
    usual = {path for path, _ in counted.most_common(MOST)}
    found = {path: list[Any]([None]) * len(objects) for path in counted if path in usual}
    for place, each in enumerate(objects):
        for path, value in _within(each, (), folded):
            if path in usual:
                found[path][place] = value
    inner = {path[:depth] for path in found for depth in range(1, len(path))}
    return [
        Leaf(path, column)
        for path, column in found.items()
        # An object that is null or empty at times is the fields within it.
        if path not in inner or not all(value is None or value == {} for value in column)
    ]


def kind(leaf: Leaf, clock_ms: float) -> Kind:
    """By its values; `clock_ms` is when the records arrived, by which an epoch is known. A few of
    another type than the rest would be malformed.
    """
    usual = _usual(leaf.values, type, {int: float})
    if len(usual) == len(leaf.values):
        return _kind(leaf, clock_ms)
    found = _kind(leaf._replace(column=usual), clock_ms)
    others = f"{len(leaf.values) - len(usual)} of {len(leaf.values)} values are of another type"
    return found._replace(note="; ".join(filter(None, (found.note, f"{others}: malformed"))))


def _kind(leaf: Leaf, clock_ms: float) -> Kind:
    types = {type(value) for value in leaf.values}
    if types == {bool}:
        return Kind("boolean")
    if types and types <= {int, float} and max(map(abs, leaf.values)) < LARGEST:
        return _of_numbers(leaf, clock_ms)
    if types == {Decimal}:
        return _of_money(leaf.values, "each has two digits there")
    if types == {str}:
        return _of_digits(leaf, clock_ms) or _of_texts(leaf, clock_ms)
    if types == {list} and (inner := _of_elements(leaf.values)):
        return Kind(f"array<{inner}>")
    tags = of_tags(leaf.path, leaf.values) if types == {list} else ""
    return Kind("string", "json", tags or _OTHERWISE.get(len(types), SEVERAL))


def snake(key: str) -> str:
    """A column's name of a key.

    >>> snake("eventId"), snake("@type"), snake("URL2"), snake("2nd")
    ('event_id', 'type', 'url2', 'f_2nd')
    """
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", key)
    plain = re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")[:60] or "field"
    return plain if plain[0].isalpha() else f"f_{plain}"


def _folded(objects: Sequence[Mapping[str, Any]]) -> set[Path]:
    """Objects whose keys are values: one field of JSON each."""
    keys = dict[Path, set[str]]()

    def walk(value: Mapping[str, Any], path: Path) -> None:
        keys.setdefault(path, set()).update(value)
        for key, each in value.items():
            if isinstance(each, dict) and len(path) < DEEPEST:
                walk(each, (*path, key))

    others = set[Path]()

    def look(value: Mapping[str, Any], path: Path) -> None:
        for key, each in value.items():
            if isinstance(each, dict):
                look(each, (*path, key)) if len(path) < DEEPEST else None
            elif each is not None:
                others.add((*path, key))

    for each in objects:
        walk(each, ())
        look(each, ())
    # Of many keys, or an object in some records and something else in others: one field of JSON.
    wide = {path for path, names in keys.items() if len(names) > WIDEST}
    return (wide | (keys.keys() & others)) - {()}


def _within(value: Mapping[str, Any], path: Path, folded: set[Path]) -> Iterator[tuple[Path, Any]]:
    for key, each in value.items():
        here = (*path, key)
        inner = isinstance(each, dict) and each and here not in folded and len(here) < DEEPEST
        if inner:
            yield from _within(each, here, folded)
        else:
            yield here, each


def _of_numbers(leaf: Leaf, clock_ms: float) -> Kind:
    values, name = leaf.values, leaf.name
    whole = all(isinstance(each, int) for each in values)
    type_, money = ("bigint", _OF_CENTS) if whole else ("double", INEXACT)
    if ID.search(name):
        return Kind(type_)
    if found := epoch(name, values, clock_ms):
        if found.sure:
            return Kind("timestamp", found.unit, f"by its size: {values[0]} as {found.unit}")
        return Kind(type_, None, f"a time? As {found.unit} it would be of these years")
    if all(is_written_out(str(each)) for each in values):
        return Kind(type_, None, "a time? Its digits are a date's and a time's")
    if not _MONEY.search(leaf.whose):
        few = sorted({*values}) if whole and len(values) >= MANY else []
        told = f"an enumeration? {', '.join(map(str, few))}" if 1 < len(few) <= SYMBOLS else ""
        return Kind(type_, None, told)
    numbers = [Decimal(repr(each)) for each in values]
    exact = not whole and all(-_exponent(each) <= MOST_PLACES for each in numbers)
    return _of_money(numbers, "money, by its name") if exact else Kind(type_, None, money)


def _exponent(number: Decimal) -> int:
    return int(number.as_tuple().exponent)


def _of_money(numbers: Sequence[Decimal], why: str) -> Kind:
    """With more digits than the sample has, a record is malformed, and not rounded."""
    places = max(2, *(-_exponent(each) for each in numbers))
    digits = max(each.adjusted() + 1 for each in numbers) + places
    if (precision := next((each for each in PRECISIONS if digits <= each), None)) is None:
        return Kind("string", None, "no decimal has so many digits")
    told = f"{why}: with more than {places} digits behind the point it is malformed"
    return Kind(f"decimal({precision},{places})", None, told)


def _usual(
    values: list[Any], of: Callable[[Any], Any], alike: Mapping[Any, Any] | None = None
) -> list[Any]:
    """Those for which `of` says what it says for almost all; all of them where there is no such."""
    said = [(alike or {}).get(found := of(value), found) for value in values]
    for most, count in Counter(said).most_common(1):
        if count >= (1 - FEW) * len(values):
            return [value for value, each in zip(values, said, strict=True) if each == most]
    return values


def _of_digits(leaf: Leaf, clock_ms: float) -> Kind | None:
    texts = leaf.values
    if all(map(_EPOCH.fullmatch, texts)) and not ID.search(leaf.name):
        found = epoch(leaf.name, [float(each) for each in texts], clock_ms)
        if found and found.sure:
            return Kind("timestamp", found.unit, f"by its size: {texts[0]!r} as {found.unit}")
    return None


def _of_texts(leaf: Leaf, clock_ms: float) -> Kind:
    values = leaf.values
    times = sum(bool(_TIME.fullmatch(value)) for value in values)
    if times and times >= (1 - FEW) * len(values):
        rest = len(values) - times
        return Kind("timestamp", None, f"{rest} of {len(values)} are no time" if rest else "")
    if found := written(values, clock_ms):
        zoned = found.format.zone is not None or found.format.tells_zone
        return Kind("timestamp" if zoned else "timestamp_ntz", found.format, found.note)
    if all(_LOCAL.fullmatch(value) for value in values):
        return Kind("timestamp_ntz", None, "times without a zone: no event time")
    named = VERSION.search(leaf.name) or ID.search(leaf.name)
    return Kind("string") if named else _of_words(values)


def _of_words(values: Sequence[str]) -> Kind:
    if all(_DATE.fullmatch(value) for value in values):
        return Kind("date")
    many = len(set(values)) > 1
    notes = (note for pattern, note in _NOTES if many and all(map(pattern.fullmatch, values)))
    return Kind("string", None, next(notes, ""))


def _of_elements(values: Sequence[list[Any]]) -> str:
    elements = [each for value in values for each in value if each is not None]
    counted = Counter(type(each) for each in elements)
    if not elements or len(counted) != 1 or not counted.keys() <= {str, int, float, bool}:
        return ""
    return {str: "string", int: "bigint", float: "double", bool: "boolean"}[next(iter(counted))]
