"""What stored state depends on. Kept beside the checkpoint; a change that Spark could not resume is refused before it starts."""

from __future__ import annotations

from spark_jobs.contract.spec import Pipeline

Fingerprint = dict[str, object]


def fingerprint(spec: Pipeline, spark_version: str) -> Fingerprint:
    """Dotted field -> value, for a person to read and a machine to compare. Spark resumes state within a minor version."""
    fields: Fingerprint = {
        "spark": ".".join(spark_version.split(".")[:2]),
        "topic.name": spec.topic.name,
        "topic.event_time": spec.topic.event_time,
        "output_mode": spec.output_mode,
        "state.provider": spec.state.provider,
        "state.shuffle_partitions": spec.state.shuffle_partitions,
    }
    for field in spec.topic.fields:
        fields[f"topic.fields.{field.name}"] = field.type
    for index, step in enumerate(spec.steps):
        for name, value in step.model_dump(mode="json", exclude={"stateful", "bounded"}).items():
            fields[f"steps[{index}].{name}"] = value
    return fields


def changes(stored: Fingerprint, wanted: Fingerprint) -> list[str]:
    """One line a field that differs: the field, what the state was made with, what the spec says now."""
    absent = "(absent)"
    return [
        f"{name}: was {stored.get(name, absent)!r}, is {wanted.get(name, absent)!r}"
        for name in sorted(stored.keys() | wanted.keys())
        if stored.get(name, absent) != wanted.get(name, absent)
    ]
