"""Evidence: what a sample shows of a draft's two choices, with its numbers: which time is the
event's, and which fields tell records apart. Rivals are named. What the sample cannot tell is for a
person to look at.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from statistics import median
from typing import Final, NamedTuple

from spark_jobs.draft.fields import Drafted, milliseconds, nearly_always
from spark_jobs.draft.leaf import ID
from spark_jobs.draft.written_time import FEW
from spark_jobs.spec.duration import approximate

SECOND: Final = 1_000.0
CLOSE_MS: Final = 5 * 60_000
"""Times so near to each other are of one event: it happened at the earliest, then it was seen."""
_OF_A_LIFE: Final = re.compile(r"(^|_)(created|creation|start|started|opened|birth|valid)(_|$)")
"""Times of the thing that a record is about: of all its records the same."""
_OF_OTHERS: Final = re.compile(
    r"(^|_)(trace|request|session|correlation|span|parent|batch|user|anonymous|customer|device|"
    r"sensor|account|tenant|host|partition)_(id|uid|uuid|guid|ulid)$"
)
"""Ids of what may have several records."""
ENOUGH: Final = 50
"""Records that say whether a field is a key."""
ENOUGH_EQUAL: Final = 3
"""Records that say that copies differ in a field."""
MOST_NAMED: Final = 3


class Choice(NamedTuple):
    """What was chosen, and why."""

    fields: tuple[Drafted, ...] = ()
    shown: str = ""
    """What the sample shows of it."""
    look: str = ""
    """What it cannot tell."""
    apart: tuple[str, ...] = ()
    """Times in which copies differ: when each was seen."""


def of_time(fields: Sequence[Drafted], stamps: Sequence[int | None]) -> Choice:
    """The event time: of the times that almost every record has, the one nearest to the arrival; of
    those close to that the earliest. Nothing without one. `stamps` are Kafka's, in milliseconds.
    """
    times = {each.field.name: (each, _milliseconds(each)) for each in fields if _is_time(each)}
    if not times:
        return Choice()
    known = [each for each in stamps if each is not None]
    arrived = median(known) if known else 0.0
    middle = {name: median(filter(None, column) or [0.0]) for name, (_, column) in times.items()}
    nearest = min(times, key=lambda name: abs(middle[name] - arrived))
    close = [name for name in times if abs(middle[name] - middle[nearest]) <= CLOSE_MS]
    able = [name for name in close if name == nearest or not _OF_A_LIFE.search(name)]
    chosen = next((name for name in able if _is_first(name, able, times)), nearest)
    chosen = next((name for name in close if _is_cut(chosen, name, times)), chosen)
    rivals = [_beside(chosen, name, times) for name in times if name != chosen]
    if not rivals:
        return Choice((times[chosen][0],))
    shown = f"{len(times)} candidates; {chosen} {'; '.join(rivals)}"
    look = f"is it {chosen}, and not {' or '.join(name for name in times if name != chosen)}?"
    return Choice((times[chosen][0],), shown, look)


Columns = dict[str, tuple[Drafted, list[float | None]]]


def _milliseconds(of: Drafted) -> list[float | None]:
    """Of each record; None where it has none, or one that cannot be read."""
    found = list[float | None]()
    for value in of.leaf.column:
        found.append(None)
        with suppress(ValueError, AssertionError, TypeError, OverflowError):
            found[-1] = milliseconds(value, of.field.format)
    return found


def _apart(one: str, other: str, times: Columns) -> list[float]:
    """By how many milliseconds the second is later, sorted."""
    both = zip(times[one][1], times[other][1], strict=True)
    return sorted(b - a for a, b in both if a is not None and b is not None)


def _is_first(name: str, among: Sequence[str], times: Columns) -> bool:
    apart = (_apart(name, other, times) for other in among if other != name)
    return all(sum(each < 0 for each in found) <= FEW * len(found) for found in apart)


def _is_cut(name: str, other: str, times: Columns) -> bool:
    """Whether it is the other without its fractions of a second."""
    both = [(a, b) for a, b in zip(times[name][1], times[other][1], strict=True) if a and b]
    fractions = {b % SECOND for _, b in both}
    return len(fractions) > MOST_NAMED and all(a == b // SECOND * SECOND for a, b in both)


def _beside(chosen: str, other: str, times: Columns) -> str:
    found = _apart(chosen, other, times)
    if not found:
        return f"has no record with {other}"
    low, high = (timedelta(milliseconds=each) for each in (found[0], found[-1]))
    if found[0] >= 0:
        return f"is {approximate(low)} to {approximate(high)} before {other}"
    if found[-1] <= 0:
        return f"is {approximate(-high)} to {approximate(-low)} after {other}"
    return f"is up to {approximate(-low)} after and {approximate(high)} before {other}"


def of_key(fields: Sequence[Drafted], clock: str, arrival: str) -> Choice:
    """The fields of the key: an id of which no two records that differ have the same; without one
    nothing. `clock` is the event time, `arrival` the field with Kafka's timestamp: copies differ in
    it, and in the times at which each was seen.
    """
    there = [each for each in fields if each.field.name != arrival and each.leaf.column]
    hashes, behind = _hashes(there), _behind(there, clock)
    rows, whole = _rows(hashes, behind), _rows(hashes)
    seen = behind if len({*rows}) < len({*whole}) else ()
    compared = [each for each in there if each.field.name not in seen]
    rows = rows if seen else whole
    distinct, copies = len({*rows}), len(rows) - len({*rows})
    apart = ", ".join((*seen, *([arrival] if arrival else ())))
    equal = f"{copies:,} copies are equal in all fields" + (f" but {apart}" if apart else "")
    unique, told, others = list[Drafted](), list[str](), list[str]()
    for each in compared:
        both = zip(each.leaf.column, hashes[each.field.name], rows, strict=True)
        pairs = {(value, row) for given, value, row in both if given is not None}
        values = len({value for value, _ in pairs})
        alone = values == len(pairs) and len(rows) >= ENOUGH
        if _may_be_key(each, len(rows)):
            told.append(f"{each.field.name} in {values:,} of {len(pairs):,}")
            unique += [each] if alone else []
        elif alone and values == distinct and _is_plain(each):
            others.append(each.field.name)
    own = [each for each in unique if not _OF_OTHERS.search(each.field.name)]
    if not own:
        named = ", ".join(told)
        shown = f"unique among {distinct:,} distinct records: {named}; {equal}" if told else equal
        looks = (_of_ids(unique), _of_others(others), _of_nearly_equal(hashes, clock, behind))
        return Choice((), shown, "; ".join(filter(None, looks)), seen)
    best = min(own, key=_rank)
    rivals = [each.field.name for each in unique if each is not best]
    shown = f"{best.field.name} is unique in {distinct:,} of {distinct:,} distinct records; {equal}"
    if best.leaf.lacking:
        shown += f"; {best.leaf.lacking:,} records lack it"
    rest = f"is it {best.field.name}, and not {' or '.join(rivals)}?" if rivals else ""
    return Choice((best,), shown, rest, seen)


def _behind(fields: Sequence[Drafted], clock: str) -> tuple[str, ...]:
    """The times that are at the event's or behind it: when it was seen."""
    times = {each.field.name: (each, _milliseconds(each)) for each in fields if _is_time(each)}
    rest = [name for name in times if name != clock and clock in times]
    apart = {name: _apart(clock, name, times) for name in rest}
    return tuple(
        name for name, of in apart.items() if of and sum(ms < 0 for ms in of) <= FEW * len(of)
    )


Hashes = Mapping[str, Sequence[int]]
"""Field -> of each record the hash of its value. A sum of them is a record's."""


def _hashes(fields: Sequence[Drafted]) -> Hashes:
    return {
        each.field.name: [hash((each.field.name, repr(value))) for value in each.leaf.column]
        for each in fields
    }


def _rows(hashes: Hashes, without: Sequence[str] = ()) -> list[int]:
    columns = (column for name, column in hashes.items() if name not in without)
    return [sum(row) for row in zip(*columns, strict=True)]


def _is_time(of: Drafted) -> bool:
    return of.field.type == "timestamp" and nearly_always(of)


def _is_plain(of: Drafted) -> bool:
    return of.field.type in {"string", "bigint"} and not of.field.format


def _of_ids(unique: Sequence[Drafted]) -> str:
    if not unique:
        return "no field is surely an id: equal records are duplicates"
    ids = " or ".join(each.field.name for each in unique)
    return f"{ids} is unique here, but by its name several records may have the same"


def _of_others(names: Sequence[str]) -> str:
    some = ", ".join(names[:MOST_NAMED])
    return f"unique here, too, and perhaps the key: {some}" if names else ""


def _of_nearly_equal(hashes: Hashes, clock: str, behind: Sequence[str]) -> str:
    """Records of one time that differ in one field alone, or in when they were seen, too; where
    times tell records apart.
    """
    rows = _rows(hashes, behind)
    if len({*hashes.get(clock, ())}) * 2 < len(rows):
        return ""
    found = {
        name: len({*rows}) - len({row - own for row, own in zip(rows, column, strict=True)})
        for name, column in hashes.items()
        if name not in {clock, *behind}
    }
    most = max(found, key=found.__getitem__, default="")
    if not most or found[most] < max(ENOUGH_EQUAL, FEW / 3 * len(rows)):
        return ""
    but = " and ".join((most, *behind))
    return f"{found[most]:,} records equal another in all fields but {but}: are they copies?"


def _may_be_key(of: Drafted, records: int) -> bool:
    """Called an id, and of nearly as many values as there are records."""
    texts = [value for value in of.leaf.values if isinstance(value, str | int)]
    many = len(texts) >= max(ENOUGH, (1 - FEW) * records) and len({*texts}) * 2 > records
    return _is_plain(of) and bool(ID.search(of.field.name)) and many


def _rank(of: Drafted) -> tuple[bool, int, int]:
    """What is called an id and no more comes first; then what has more values."""
    last = str(of.leaf.path[-1]).lower()
    bare = last in {"id", "uuid", "guid", "ulid", "eventid", "event_id", "messageid", "message_id"}
    return not bare, -len({*map(repr, of.leaf.values)}), len(of.leaf.path)
