"""Each: where the records are in a value that has many, and where their fields are.

Whatever the format, a record comes to its decoder as an object with a member for each list on the
way: "0" has the element of the innermost list, "1" what that list is in, and so on.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from spark_jobs.spec.fields.place import Place
from spark_jobs.spec.model import refuse
from spark_jobs.values import path as paths

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spark_jobs.spec.fields.field import Field
    from spark_jobs.values.path import Path

MOST_LEVELS: Final = 9
AROUND: Final = r"`\$\.\d\b"
"""In a reason: how the place begins of a field of an element, or of what is around it."""
OF_ENVELOPED: Final = (
    "Leave envelope out, and name the whole way, as 'data.items[]', with up=1 for what is around it"
)
OF_TEXT: Final = "Use Json, Avro or Protobuf"
_LISTS: Final = re.compile(r"(.*?)\[\]\.?")


def levels(each: str) -> tuple[tuple[str, ...], ...]:
    """The way to each list, from the outermost: keys, from the value or from an element. Raises
    ValueError, with what is wrong.

    >>> levels("resourceLogs[].data.logRecords[]"), levels("[]")
    ((('resourceLogs',), ('data', 'logRecords')), ((),))
    """
    texts, end = list[str](), 0
    while found := _LISTS.match(each, end):
        texts.append(found[1])
        end = found.end()
    if end != len(each) or each.endswith(".") or not 0 < len(texts) <= MOST_LEVELS:
        raise ValueError(f"it is no way to a list, as 'data.items[]', of at most {MOST_LEVELS}")
    ways = [paths.parsed(text) if text else () for text in texts]
    keys = [tuple(step for step in way if isinstance(step, str)) for way in ways]
    if any(
        len(way) != len(of) or not paths.readable(way) for way, of in zip(ways, keys, strict=True)
    ):
        raise ValueError("the way to a list has keys alone")
    if () in keys[1:]:
        raise ValueError("a list of lists has no records")
    return tuple(keys)


def element_places(fields: Sequence[Field]) -> tuple[Place, ...]:
    """Where the fields of the value are, in declared order."""
    of_value = (field for field in fields if field.part == "value")
    return tuple(Place(field, field.paths, ((str(field.up),),)) for field in of_value)


def needed(fields: Sequence[Field]) -> dict[int, tuple[str, ...]]:
    """How far out -> the keys there that fields begin with; without those of the element."""
    found: dict[int, dict[str, None]] = {}
    for field in fields:
        for path in field.paths if field.up else ():
            found.setdefault(field.up, {})[str(path[0])] = None
    return {up: tuple(keys) for up, keys in found.items()}


def missing(way: Path) -> str:
    """Why a value has no list."""
    return f"`$.{paths.as_text(way)}` is missing or null: an empty list is []"


def of_element(reason: str) -> str:
    """A reason as a person reads it.

    >>> of_element("`$.0.at` is missing or null")
    '`$.at` is missing or null'
    """
    return re.sub(AROUND, "`$", reason)


def refuse_each(each: str | None, fields: Sequence[Field], beside: Mapping[str, str]) -> None:
    """Refuse what a value with many records cannot have, by spec.model.refuse. `beside`: what of
    the topic does not go with it -> what to do.
    """
    above = [field for field in fields if field.up]
    if each is None:
        if above:
            names = [field.name for field in above]
            refuse("up", names, "a value is one record", "Set each, or leave up out")
        return
    try:
        ways = levels(each)
    except ValueError as wrong:
        refuse("each", each, str(wrong), "Write it as 'resourceLogs[].logRecords[]' or '[]'")
    for name, instead in beside.items():
        refuse("each", each, f"a value with many records does not go with {name}", instead)
    for field in above:
        if field.part != "value":
            refuse("up", field.name, f"it is of the {field.part}, which is one", "Leave it out")
        if field.up > len(ways) or not ways[-field.up]:
            refuse("up", field.up, f"nothing is so far around the field {field.name}", "Write less")
        if any(path[0] == ways[-field.up][0] for path in field.paths):
            refuse(
                "path", field.path, f"the list is there, at up={field.up}", "Name what is beside it"
            )
