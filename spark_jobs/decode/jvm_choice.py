"""Choice: whether the JVM decodes the records of a topic. Without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spark_jobs.spec import Json
from spark_jobs.spec.fields.place import PAYLOAD
from spark_jobs.values.path import Member, Path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spark_jobs.spec import Field, Topic
    from spark_jobs.values.gap import Unheld

KINDS: Final = frozenset({
    "string", "smallint", "int", "bigint", "float", "double", "boolean", "timestamp",
    "timestamp_ntz", "date",
})  # fmt: skip
"""Types without parts, beside decimals."""
NO_JAR: Final = (
    "the JVM has not the sluice-files.jar of this Sluice (`sluice install`, `make setup`)"
)
FORMATS: Final = frozenset({None, "ms", "us", "ns", "days", "text"})


def why_python(topic: Topic, unheld: Sequence[Unheld] = ()) -> str:
    """Why Python decodes the topic's records, all of them; empty if the JVM does."""
    if type(topic.format) is not Json:
        return f"they are {topic.format.kind}"
    if topic.each or topic.registered:
        many = "a value has many records"
        return many if topic.each else "its key is of a registry, whose schemas are counted"
    if topic.envelope:
        return f"they are in the envelope {topic.envelope}"
    if unheld:
        return f"a GroupState holds not every {unheld[0].field}"
    known, spelled = set[Path](), dict[Path, Path]()
    for field in topic.fields:
        if why := _why(field) or _like_another(field.paths[0], known, spelled):
            return f"field {field.name} {why}"
    return ""


def _like_another(path: Path, known: set[Path], spelled: dict[Path, Path]) -> str:
    """What a path has in common with one of those before it, in two sets that it joins."""
    if path in known:
        return "is where another field is"
    known.add(path)
    for end in range(1, len(path) + 1):
        lower = tuple(step.lower() if isinstance(step, str) else step for step in path[:end])
        if spelled.setdefault(lower, path[:end]) != path[:end]:
            return "has a key that another field has in another case"
    return ""


def _why(field: Field) -> str:
    """Why a record with such a field is not for the JVM; empty if it is."""
    path, *more = field.paths
    keys = [step for step in path if isinstance(step, str)]
    found = {
        f"is of the {field.part}": field.part != "value",
        "has a rule": field.ruled,
        "is of a payload, which may have its own schema": PAYLOAD in path,
        "has several paths": bool(more),
        "has a format that only Python reads": field.format not in FORMATS,
        f"is {field.type}": field.kind != "decimal" and field.type not in KINDS,
        "is within a member of an array": any(isinstance(step, int) for step in path[:-1])
        or any(isinstance(step, Member) for step in path),
        "has a key with letters outside of ASCII": not "".join(keys).isascii(),
    }
    return next((why for why, holds in found.items() if holds), "")
