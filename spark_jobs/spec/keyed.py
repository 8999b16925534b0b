"""Keyed: what a pipeline may have beside a step that makes its table follow a key."""

from __future__ import annotations

from collections.abc import Sequence

from spark_jobs.spec.model import refuse
from spark_jobs.spec.output_mode import OutputMode
from spark_jobs.spec.steps.following import COMPARABLE, Following
from spark_jobs.spec.steps.union import Keyed, Step
from spark_jobs.spec.topic import Topic


def followed(steps: Sequence[Step]) -> Keyed | None:
    """The step that makes the table follow a key: the last one, if any."""
    return steps[-1] if steps and isinstance(steps[-1], Following) else None


def refuse_misplaced(steps: Sequence[Step], mode: OutputMode, *, several: bool) -> None:
    """Refuse a Latest or History that is not last, behind other steps than Transforms, or of
    topics.
    """
    for at, step in enumerate(steps):
        if not isinstance(step, Following):
            continue
        name = type(step).__name__
        if at != len(steps) - 1:
            refuse(
                "steps",
                steps[at + 1].kind,
                f"the table is what a {name} makes, so nothing follows it",
                f"Put the {name} last",
            )
        if others := [each.kind for each in steps[:at] if each.remembers]:
            refuse(
                "steps",
                others,
                f"a {name} takes the changes as the topic has them",
                f"Leave out the others: a {name} drops copies by itself",
            )
        if several:
            refuse(
                "topics",
                "several",
                "offsets of two topics have no order, and they decide between equal positions",
                "Give each topic a pipeline of its own",
            )
        if mode != "append":
            refuse(
                "output_mode",
                mode,
                f"a {name} decides itself which rows it replaces",
                "Leave output_mode out",
            )


def placing(topic: Topic, steps: Sequence[object]) -> Topic:
    """The topic, whose fields are required that the first step places changes by: a record without
    one is malformed when it is decoded. Behind a Transform the step itself looks for nulls.
    """
    needed = steps[0].placed if steps and isinstance(steps[0], Following) else ()
    if all(field.required or field.name not in needed for field in topic.fields):
        return topic
    fields = (
        field.model_copy(update={"required": field.required or field.name in needed})
        for field in topic.fields
    )
    return topic.model_copy(update={"fields": tuple(fields)})


def refuse_lost_deletes(steps: Sequence[Step], topic: Topic) -> None:
    """Refuse a step that follows a topic whose only deletes are tombstones, and dropped."""
    step = followed(steps)
    if step and not step.deletes and topic.tombstones == "dropped" and not topic.envelope:
        refuse(
            f"{type(step).__name__}.deletes",
            step.deletes,
            "a tombstone says that its key is gone, and a dropped one deletes nothing",
            "Say which records delete; or leave tombstones malformed, so that they are kept",
        )


def refuse_incomparable(step: Following, types: dict[str, str]) -> None:
    """Refuse keys and order_by of types whose order depends on who compares."""
    for field, names in step.compared.items():
        of = {name: types[name] for name in names if name in types}
        if odd := [f"{name} {kind}" for name, kind in of.items() if not COMPARABLE.fullmatch(kind)]:
            refuse(
                f"{type(step).__name__}.{field}",
                odd,
                "Spark and Delta may compare values of this type differently",
                "Use a column of an integer, decimal, string, date or timestamp",
            )
