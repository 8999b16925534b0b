"""Evidence: what a sample shows of a draft's two choices, with its numbers: which time is the
event's, and which fields tell records apart. Rivals are named. What the sample cannot tell is for a
person to look at.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from statistics import median
from typing import Final, NamedTuple

from spark_jobs.draft.fields import Drafted, milliseconds, nearly_always
from spark_jobs.draft.leaf import FEW
from spark_jobs.spec.duration import approximate

CLOSE_MS: Final = 5 * 60_000
"""Times so near to each other are of one event: it happened at the earliest, then it was seen."""
_OF_A_LIFE: Final = re.compile(r"(^|_)(created|creation|start|started|opened|birth|valid)(_|$)")
"""Times of the thing that a record is about: of all its records the same."""
_ID: Final = re.compile(r"(^|_)(id|uuid|guid|ulid)$")
_OF_OTHERS: Final = re.compile(
    r"(^|_)(trace|request|session|correlation|span|parent|batch|user|anonymous|customer|device|"
    r"sensor|account|tenant|host|partition)_(id|uuid|guid|ulid)$"
)
"""Ids of what may have several records."""
ENOUGH: Final = 50
"""Records that say whether a field is a key."""


class Choice(NamedTuple):
    """What was chosen, and why."""

    fields: tuple[Drafted, ...] = ()
    shown: str = ""
    """What the sample shows of it."""
    look: str = ""
    """What it cannot tell."""


def of_time(fields: Sequence[Drafted], stamps: Sequence[int | None]) -> Choice:
    """The event time: of the times that almost every record has, the one nearest to the arrival; of
    those close to that the earliest. Nothing without one. `stamps` are Kafka's, in milliseconds.
    """
    times = {
        each.field.name: (each, _milliseconds(each))
        for each in fields
        if each.field.type == "timestamp" and nearly_always(each)
    }
    if not times:
        return Choice()
    known = [each for each in stamps if each is not None]
    arrived = median(known) if known else 0.0
    middle = {name: median(filter(None, column) or [0.0]) for name, (_, column) in times.items()}
    nearest = min(times, key=lambda name: abs(middle[name] - arrived))
    close = [name for name in times if abs(middle[name] - middle[nearest]) <= CLOSE_MS]
    able = [name for name in close if name == nearest or not _OF_A_LIFE.search(name)]
    chosen = next((name for name in able if _is_first(name, able, times)), nearest)
    rivals = [_beside(chosen, name, times) for name in times if name != chosen]
    if not rivals:
        return Choice((times[chosen][0],))
    shown = f"{len(times)} candidates; {chosen} {'; '.join(rivals)}"
    look = f"is it {chosen}, and not {' or '.join(name for name in times if name != chosen)}?"
    return Choice((times[chosen][0],), shown, look)


Columns = dict[str, tuple[Drafted, list[float | None]]]


def _milliseconds(of: Drafted) -> list[float | None]:
    """Of each record; None where it has none, or one that cannot be read."""
    unit = str(of.field.format) if of.field.format else None
    found = list[float | None]()
    for value in of.leaf.column:
        found.append(None)
        with suppress(ValueError, AssertionError, TypeError, OverflowError):
            found[-1] = milliseconds(value, unit)
    return found


def _apart(one: str, other: str, times: Columns) -> list[float]:
    """By how many milliseconds the second is later, sorted."""
    both = zip(times[one][1], times[other][1], strict=True)
    return sorted(b - a for a, b in both if a is not None and b is not None)


def _is_first(name: str, among: Sequence[str], times: Columns) -> bool:
    apart = (_apart(name, other, times) for other in among if other != name)
    return all(sum(each < 0 for each in found) <= FEW * len(found) for found in apart)


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


def of_key(fields: Sequence[Drafted], arrival: str) -> Choice:
    """The fields of the key: an id of which no two records that differ have the same; without one
    nothing. `arrival` is the field with Kafka's timestamp, in which also copies differ.
    """
    compared = [each for each in fields if each.field.name != arrival]
    rows = [
        *zip(*(map(repr, each.leaf.column) for each in compared if each.leaf.column), strict=True)
    ]
    distinct, copies = len({*rows}), len(rows) - len({*rows})
    equal = f"{copies:,} copies are equal in all fields" + (f" but {arrival}" if arrival else "")
    unique, told = list[Drafted](), list[str]()
    for each in compared:
        if not _may_be_key(each, len(rows)):
            continue
        pairs = {
            (repr(v), row) for v, row in zip(each.leaf.column, rows, strict=True) if v is not None
        }
        values = len({value for value, _ in pairs})
        told.append(f"{each.field.name} in {values:,} of {len(pairs):,}")
        if values == len(pairs) and len(rows) >= ENOUGH:
            unique.append(each)
    named = ", ".join(told)
    own = [each for each in unique if not _OF_OTHERS.search(each.field.name)]
    if not own:
        shown = f"unique among {distinct:,} distinct records: {named}; {equal}" if told else equal
        look = "no field is surely an id: equal records are duplicates"
        if unique:
            ids = " or ".join(each.field.name for each in unique)
            look = f"{ids} is unique here, but by its name several records may have the same"
        return Choice((), shown, look)
    best = min(own, key=_rank)
    others = [each.field.name for each in unique if each is not best]
    shown = f"{best.field.name} is unique in {distinct:,} of {distinct:,} distinct records; {equal}"
    if best.leaf.lacking:
        shown += f"; {best.leaf.lacking:,} records lack it"
    rest = f"is it {best.field.name}, and not {' or '.join(others)}?" if others else ""
    return Choice((best,), shown, rest)


def _may_be_key(of: Drafted, records: int) -> bool:
    """Called an id, and of nearly as many values as there are records."""
    plain = of.field.type in {"string", "bigint"} and not of.field.format
    texts = [value for value in of.leaf.values if isinstance(value, str | int)]
    many = len(texts) >= max(ENOUGH, (1 - FEW) * records) and len({*texts}) * 2 > records
    return plain and bool(_ID.search(of.field.name)) and many


def _rank(of: Drafted) -> tuple[bool, int, int]:
    """What is called an id and no more comes first; then what has more values."""
    last = str(of.leaf.path[-1]).lower()
    bare = last in {"id", "uuid", "guid", "ulid", "eventid", "event_id", "messageid", "message_id"}
    return not bare, -len({*map(repr, of.leaf.values)}), len(of.leaf.path)
