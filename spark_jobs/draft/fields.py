"""Fields: the declaration of each leaf, with a column's name that no other has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spark_jobs.draft.leaf import Kind, Leaf, kind, snake
from spark_jobs.draft.written_time import FEW, UNITS, instant
from spark_jobs.errors import SluiceError
from spark_jobs.spec import Field, Format, Local
from spark_jobs.spec.fields.field import Part
from spark_jobs.spec.fields.place import Envelope
from spark_jobs.spec.formats.format import JSON
from spark_jobs.values.own_columns import is_own
from spark_jobs.values.path import Path, as_text, readable

if TYPE_CHECKING:
    from spark_jobs.draft.sample import Sampled

LEFT_OUT: Final = "left out"
THE_TIME, THE_KEY, THE_FORMAT = "the event time", "the key", "the format"
"""Notes of leaves without a field, and of choices: no field has such a name."""
FEW_NAMES: Final = 5
"""Of those that are left out."""
SHOWN: Final = 60
"""Characters of each."""
BARE = {
    *("id", "type", "name", "value", "key", "code", "status", "time", "ts", "at"),
    *("string_value", "int_value", "double_value", "bool_value", "oid", "number_long"),
}
"""Keys that say nothing without the one above."""


class Drafted(NamedTuple):
    """A field, and what of it a person should look at."""

    field: Field
    leaf: Leaf
    note: str = ""


class Reading(NamedTuple):
    """What a sample has, by its format."""

    records: list[Sampled]
    """Those that could be read, in the order of the sample."""
    fields: list[Drafted]
    """With a value for each of the records."""
    format: Format = JSON
    envelope: Envelope | None = None
    each: str | None = None
    """The way to the records of a value that has many."""
    notes: Mapping[str, str] = MappingProxyType({})
    """As a draft has them."""


def drafted(
    leaves: Sequence[Leaf],
    clock_ms: float,
    part: Part = "value",
    taken: Sequence[str] = (),
    of: Callable[[Leaf, float], Kind] = kind,
    *,
    notes: dict[str, str],
) -> list[Drafted]:
    """In the order of the leaves, each declared as `of` says; none has a name that is `taken`. A
    leaf that no field can read is left out, and `notes` says so.
    """
    made, names, left_out = list[Drafted](), set(taken), list[str]()
    ends = Counter(snake(str(leaf.path[-1])) for leaf in leaves)
    for leaf in leaves:
        # A key in the wrong case is a fault of its record, and no field more.
        few = leaf.column and len(leaf.values) <= FEW * len(leaf.column)
        if few and snake(str(leaf.path[-1])) in names:
            continue
        name = _name(leaf.path, names, ends)
        one = _one(leaf, of, clock_ms, name, part)
        if one is None:
            left_out.append(ascii(".".join(map(str, leaf.path)))[:SHOWN])
        else:
            names.add(name)
            made.append(one)
    if left_out:
        told = f"left out, since no field can read it: {', '.join(left_out[:FEW_NAMES])}"
        more = len(left_out) - FEW_NAMES
        notes[LEFT_OUT] = told + (f" and {more} more" if more > 0 else "")
    return made


def _one(
    leaf: Leaf, of: Callable[[Leaf, float], Kind], clock_ms: float, name: str, part: Part
) -> Drafted | None:
    if not readable(leaf.path):
        return None
    try:
        found = of(leaf, clock_ms)
        path = as_text(leaf.path)
        given: dict[str, Any] = {"name": name, "type": found.type, "part": part}
        given |= {"path": path} if path != name else {}
        given |= {"format": found.format} if found.format else {}
        return Drafted(Field(**given, required=not leaf.lacking), leaf, found.note)
    except (SluiceError, ValueError, OverflowError, RecursionError):
        return None


def required(of: Drafted) -> Drafted:
    """The same as a field without which a record is malformed."""
    field = of.field.model_copy(update={"required": True})
    lacking = f"{of.leaf.lacking} of {len(of.leaf.column)} records lack it: malformed"
    notes = [of.note, lacking if of.leaf.lacking else ""]
    return Drafted(field, of.leaf, "; ".join(filter(None, notes)))


def optional(of: Drafted) -> Drafted:
    """The same as a field that a record may lack."""
    return of._replace(field=of.field.model_copy(update={"required": False}))


def nearly_always(of: Drafted) -> bool:
    """Whether almost every record has it."""
    return bool(of.leaf.values) and of.leaf.lacking <= FEW * len(of.leaf.column)


def _name(path: Path, taken: set[str], ends: Mapping[str, int]) -> str:
    """Of the last key; of more of them where it says nothing, or another path ends with it too."""
    keys = [snake(str(key)) for key in path]
    bare = keys[-1] in BARE or len(keys[-1]) == 1 or ends[keys[-1]] > 1
    first = 2 if bare and len(keys) > 1 else 1
    for count in range(first, len(keys) + 1):
        name = "_".join(keys[-count:])[:60]
        if name not in taken and not is_own(name):
            return name
    number = next(n for n in range(2, len(taken) + 3) if f"{keys[-1]}_{n}" not in taken)
    return f"{keys[-1]}_{number}"


def milliseconds(value: object, format_: str | Local | None) -> float:
    """Since 1970."""
    if isinstance(format_, Local):
        return instant(str(value), format_)
    if isinstance(value, datetime):
        return value.timestamp() * 1000
    if isinstance(value, str) and format_ in UNITS:
        return float(value) * UNITS[format_]
    if isinstance(value, str):
        read = datetime.fromisoformat(value.replace("t", "T").replace("z", "Z"))
        return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp() * 1000
    assert isinstance(value, int | float)
    return value * UNITS[str(format_ or "ms")]
