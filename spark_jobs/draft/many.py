"""Many records in a value: the way to their list, and each of them with what it is in.

A list is taken apart where its elements have a time, and nothing around them has one: of an order
with its items the order is the record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from spark_jobs.draft.fields import Drafted, Reading, drafted, nearly_always
from spark_jobs.draft.leaf import leaves
from spark_jobs.draft.sample import Sampled
from spark_jobs.draft.written_time import FEW
from spark_jobs.spec.fields.each import MOST_LEVELS

THE_LIST: Final = "the list"
"""The note of `each`: no field has this name."""
MOST_AROUND: Final = 12
"""Fields of what a list is in."""
ROOT: Final = "[]"
"""The way to the list that a value is."""
Object = Mapping[str, Any]


class Element(NamedTuple):
    """One record of a value."""

    value: int
    """The number of its value."""
    within: tuple[Object, ...]
    """The record itself, then what its list is in, outwards."""


def apart(found: Sequence[Any], records: Sequence[Sampled], clock_ms: float) -> Reading | None:
    """With the way to their list, of values that are objects, or lists of them; None where a value
    is one record.
    """
    elements, way = [Element(number, (each,)) for number, each in enumerate(found)], list[str]()
    if any(isinstance(each, list) for each in found):
        whole = [Element(number, ({ROOT: each},)) for number, each in enumerate(found)]
        elements, way = [*_inner(whole, ROOT)], [ROOT]
    while not (way and _has_time(elements, clock_ms)):
        key = _list_of(elements)
        if not key or len(way) == MOST_LEVELS or _has_time(elements, clock_ms):
            return None
        elements = [*_inner(elements, key)]
        way.append(f"{key}[]")
    return _reading(elements, records, clock_ms, way)


def _list_of(elements: Sequence[Element]) -> str:
    """The one key that is a list of objects in almost all, with little beside it."""
    objects = [each.within[0] for each in elements]
    names = {
        key
        for each in objects
        for key, value in each.items()
        if isinstance(value, list) and value and all(isinstance(one, dict) for one in value)
    }
    lists = Counter(key for each in objects for key in names if isinstance(each.get(key), list))
    usual = [key for key in names if lists[key] >= (1 - FEW) * len(objects)]
    beside = leaves([_without(each, names) for each in objects[:100]])
    one = len(usual) == 1 and len(names) == 1 and len(beside) <= MOST_AROUND
    return usual[0] if one and usual[0].isidentifier() else ""


def _without(of: Object, names: set[str]) -> Object:
    return {key: value for key, value in of.items() if key not in names}


def _inner(elements: Sequence[Element], key: str) -> Iterator[Element]:
    for each in elements:
        given = each.within[0].get(key)
        around = (_without(each.within[0], {key}), *each.within[1:])
        for one in given if isinstance(given, list) else ():
            if isinstance(one, dict):
                yield Element(each.value, (one, *around))


def _fields(
    elements: Sequence[Element],
    up: int,
    clock_ms: float,
    taken: Sequence[str],
    notes: dict[str, str],
) -> list[Drafted]:
    found = leaves([each.within[up] for each in elements])
    made = drafted(found, clock_ms, taken=taken, notes=notes)
    return [
        each._replace(field=each.field.model_copy(update={"up": up})) if up else each
        for each in made
    ]


def _has_time(elements: Sequence[Element], clock_ms: float) -> bool:
    made = _fields(elements, 0, clock_ms, (), {})
    return any(each.field.type == "timestamp" and nearly_always(each) for each in made)


def _reading(
    elements: Sequence[Element], records: Sequence[Sampled], clock_ms: float, way: Sequence[str]
) -> Reading:
    notes, fields = dict[str, str](), list[Drafted]()
    for up in range(len(way) + 1):
        taken = ("arrived_at", *(each.field.name for each in fields))
        fields += _fields(elements, up, clock_ms, taken, notes)
    counts = [0] * len(records)
    for each in elements:
        counts[each.value] += 1
    notes[THE_LIST] = f"a value has {min(counts)} to {max(counts)} records, in its list"
    of_them = [records[each.value] for each in elements]
    return Reading(of_them, fields, each=".".join(way), notes=notes)
