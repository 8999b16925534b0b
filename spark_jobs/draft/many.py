"""Many: whether the values of a sample are lists of records, with little around them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from spark_jobs.draft.fields import Drafted, drafted
from spark_jobs.draft.leaf import FEW, kind, leaves
from spark_jobs.values.path import Path, as_text, readable

FEW_AROUND: Final = 3
"""Fields beside a list of records, at most: with more, the list is a part of one record."""
MOST_LISTS: Final = 4
SEVERAL: Final = 2
"""Records that one value has at least."""
_PAIR: Final = {"key", "name", "value", "type"}
"""Keys of what is a pair of name and value, and no record."""


class Many(NamedTuple):
    """The records of the values."""

    each: str
    parents: list[int]
    """Of each record the number of its value."""
    rows: list[Mapping[str, Any]]
    around: list[list[Mapping[str, Any]]]
    """What each list is in, from the innermost: of each record."""
    values: int

    @property
    def shown(self) -> str:
        """For a person."""
        counts = [0] * self.values
        for parent in self.parents:
            counts[parent] += 1
        low, high = min(counts), max(counts)
        each = str(low) if low == high else f"{low} to {high}"
        return f"{len(self.rows):,} records in {self.values:,} values, {each} in each"

    def fields(self, clock_ms: float, notes: dict[str, str]) -> list[Drafted]:
        """Of the records, and of what they are in."""
        found = drafted(leaves(self.rows), clock_ms, notes=notes)
        for up, of in enumerate(self.around, 1):
            names = [each.field.name for each in found]
            beside = drafted(leaves(of), clock_ms, taken=names, notes=notes)
            found += [_further_out(each, up) for each in beside if each.leaf.values]
        return found


def _further_out(of: Drafted, up: int) -> Drafted:
    return of._replace(field=of.field.model_copy(update={"up": up}))


def many(values: Sequence[Any], clock_ms: float) -> Many | None:
    """None where a value is one record."""
    ways = list[Path]()
    inner: list[tuple[int, Any, tuple[Mapping[str, Any], ...]]]
    inner = [(n, value, ()) for n, value in enumerate(values)]
    if all(isinstance(value, list) for value in values):
        ways, inner = [()], [(n, each, ({},)) for n, of, _ in inner for each in of]
    while len(ways) < MOST_LISTS and inner:
        objects = [each for _, each, _ in inner if isinstance(each, dict)]
        if (way := _list_of_records(objects)) is None:
            break
        ways.append(way)
        inner = [
            (n, member, (_beside(each, way), *around))
            for n, each, around in inner
            if isinstance(each, dict)
            for member in _at(each, way) or ()
        ]
    rows = [(n, each, around) for n, each, around in inner if isinstance(each, dict)]
    if not ways or max(Counter(n for n, *_ in rows).values(), default=0) < SEVERAL:
        return None
    around = [[each[up] for *_, each in rows] for up in range(len(ways))]
    each = ".".join(f"{as_text(way)}[]" if way else "[]" for way in ways)
    found = Many(each, [n for n, *_ in rows], [row for _, row, _ in rows], around, len(values))
    of_a_row, of_a_value = _has_time(found.rows, clock_ms), map(_timed(clock_ms), around)
    return found if of_a_row or not any(of_a_value) else None


def _timed(clock_ms: float) -> Callable[[Sequence[Mapping[str, Any]]], bool]:
    return lambda objects: _has_time(objects, clock_ms)


def _has_time(objects: Sequence[Mapping[str, Any]], clock_ms: float) -> bool:
    found = (leaf for leaf in leaves(objects) if leaf.values)
    return any(kind(leaf, clock_ms).type == "timestamp" for leaf in found)


def _list_of_records(objects: Sequence[Mapping[str, Any]]) -> Path | None:
    """Where almost all have one, if nothing else is such a list, and little is beside it."""
    ways = {way for each in objects for way, _ in _lists(each, ())}
    able = [way for way in ways if _are_records([_at(each, way) for each in objects])]
    if len(able) != 1 or not readable(able[0]):
        return None
    beside = {key for each in objects for key, value in _beside(each, able[0]).items()
              if not isinstance(value, dict | list)}  # fmt: skip
    return able[0] if len(beside) <= FEW_AROUND else None


def _lists(of: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, list[Any]]]:
    for key, value in of.items():
        if isinstance(value, list):
            yield (*path, key), value
        elif isinstance(value, dict) and not path:
            yield from _lists(value, (key,))


def _are_records(lists: Sequence[Any]) -> bool:
    lacking = sum(not isinstance(each, list) for each in lists)
    members = [each for of in lists if isinstance(of, list) for each in of]
    objects = [each for each in members if isinstance(each, dict)]
    pairs = sum(each.keys() <= _PAIR for each in objects)
    enough = (1 - FEW) * len(members)
    return bool(objects) and lacking <= FEW * len(lists) and len(objects) - pairs >= enough


def _at(of: Mapping[str, Any], way: Path) -> list[Any] | None:
    at: Any = of
    for key in way:
        at = at.get(key) if isinstance(at, dict) else None
    return at if isinstance(at, list) else None


def _beside(of: Mapping[str, Any], way: Path) -> dict[str, Any]:
    return {key: value for key, value in of.items() if key != way[0]}
