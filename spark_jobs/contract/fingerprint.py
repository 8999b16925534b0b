"""What stored state depends on, kept beside the checkpoint: a change that Spark breaks it is refused before Spark starts."""

from __future__ import annotations

from typing import Any

from spark_jobs.contract.spec import Pipeline

Fingerprint = dict[str, object]
_ABOUT: Any = {"__all__": {"about"}}
_NOT_STATE: Any = {"stateful": True, "initial_state": True, "output": _ABOUT, "state": _ABOUT}
"""Of a step. The initial state counts in the first batch only."""


def fingerprint(spec: Pipeline, spark_version: str) -> Fingerprint:
    """Dotted field -> value, for a person to read and a machine to compare. Spark resumes state within a minor version."""
    fields: Fingerprint = {
        "spark": ".".join(spark_version.split(".")[:2]),
        "topic.name": spec.topic.name,
        "topic.event_time": spec.topic.event_time,
        "output_mode": spec.output_mode,
        "state.provider": spec.state.provider,
        "state.format": spec.state.format,
        "state.shuffle_partitions": spec.state.shuffle_partitions,
    }
    for field in spec.topic.fields:
        fields[f"topic.fields.{field.name}"] = field.type
    for index, step in enumerate(spec.steps):
        for name, value in step.model_dump(mode="json", exclude=_NOT_STATE, exclude_none=True).items():
            # Spark stores measures by their place and not by their name, and a dict would not tell their order.
            fields[f"steps[{index}].{name}"] = [list(pair) for pair in value.items()] if name == "measures" else value
    return fields


def changes(stored: Fingerprint, wanted: Fingerprint) -> list[str]:
    """One line a field that differs: the field, what the state was made with, what the spec says now."""
    absent = "(absent)"
    return [
        f"{name}: was {stored.get(name, absent)!r}, is {wanted.get(name, absent)!r}"
        for name in sorted(stored.keys() | wanted.keys())
        if stored.get(name, absent) != wanted.get(name, absent)
    ]
