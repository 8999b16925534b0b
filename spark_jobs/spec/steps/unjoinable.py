"""Unjoinable: what a Join refuses of its two topics."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from spark_jobs.spec.columns import refuse_own
from spark_jobs.spec.model import refuse

if TYPE_CHECKING:
    from spark_jobs.spec.steps.deduplicate import Deduplicate
    from spark_jobs.spec.topic import Topic

COMPARED: Final = (
    *("string", "binary", "boolean", "tinyint", "smallint", "int", "bigint", "decimal"),
    *("date", "timestamp", "timestamp_ntz"),
)
"""Types of which Spark and other engines find the same values equal. Not of a double: NaN, -0.0."""


def refuse_before(takes: Sequence[str], name: str, steps: Sequence[Deduplicate]) -> None:
    """Refuse steps of an input that no Join has before it."""
    if name not in takes:
        refuse("before", name, "it is neither left nor right", f"Use {' or '.join(takes)}")
    if len(steps) != 1:
        kinds = [step.kind for step in steps]
        refuse(f"before[{name!r}]", kinds, "one Deduplicate stands there", "Write (ONE,)")
    if steps[0].scope == "for_ever":
        refuse(
            f"before[{name!r}].scope",
            steps[0].scope,
            "a Join keeps no key for ever: what it waits for ends with its range",
            "Use scope 'watermark', or 'event_time' with the event time among the keys",
        )


def refuse_unfit(step: Deduplicate, of: Topic) -> None:
    """Refuse what stands before, as a pipeline of this topic judges one of its own."""
    step.columns_after(of.columns)
    step.refuse_time(of.event_time, "append")
    maps = [each.name for each in of.fields if "map<" in each.type]
    if keys := [each for each in maps if step.whole_row or each in step.keys]:
        refuse(f"before[{of.name!r}].keys", keys, "Spark compares no maps", "Use others")


def refuse_null(on: Mapping[str, str], left: Topic, right: Topic) -> None:
    """Refuse keys with event times, and those that may be null."""
    times = {each.event_time for each in (left, right)}
    if keys := {**on}.items() if times & {*on, *on.values()} else ():
        refuse(
            "Join.on",
            dict(keys),
            f"{', '.join(sorted(times))} is the event time, which within compares",
            "Leave it out, and say within",
        )
    fields = {each.name: each for each in right.fields}
    if nulls := [name for name in on.values() if not fields[name].required]:
        refuse(
            "Join.on",
            nulls,
            f"a record of {right.name} may have none, and nothing equals a null",
            "Declare it required: a record without it is then malformed",
        )


def refuse_same(left: Topic, found: Collection[str], prefix: str | None) -> None:
    """Refuse names of right columns that are Sluice's own, or the left topic's."""
    refuse_own("Join.prefix", found)
    taken = {name.lower() for name in left.columns}
    if same := [name for name in found if name.lower() in taken]:
        refuse(
            "Join.prefix",
            prefix,
            f"{left.name} has columns named {', '.join(same)} too",
            "Choose another one, for example prefix='right_'",
        )


def refuse_types(on: Mapping[str, str], types: Mapping[str, str]) -> None:
    """Refuse keys whose values engines do not find equal alike."""
    for one, other in on.items():
        kinds = types.get(one, ""), types.get(other, "")
        plain = kinds[0].split("(")[0] in COMPARED
        if "" not in kinds and (kinds[0] != kinds[1] or not plain):
            why = f"{one} is {kinds[0]}, and {other} is {kinds[1]}"
            if kinds[0] == kinds[1]:
                why = f"values of type {kinds[0]} are not compared"
            refuse(
                "Join.on",
                {one: other},
                why,
                f"Declare both fields with one type of {', '.join(COMPARED)}",
            )
