"""What stored state depends on, kept beside the checkpoint: a change that Spark breaks it is refused before Spark starts.

Three classes of field. Free ones are not here at all: schedule, checks, bounds, budgets, descriptions. A warned one may change:
the run says what that means, and which value is in force. Any other is refused: Spark would fail, or resume with wrong numbers.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from spark_jobs.contract import registry
from spark_jobs.contract.spec import Pipeline, State

Fingerprint = dict[str, object]
_ABOUT: Any = {"__all__": {"about"}}
_NOT_STATE: Any = {"stateful": True, "initial_state": True, "output": _ABOUT, "state": _ABOUT}
"""Of a step. The initial state counts in the first batch only."""
ABSENT = "(absent)"
FROZEN = ("state.shuffle_partitions", "state.provider", "state.format")
"""The first batch writes these into the checkpoint, and Spark goes by them ever after (OffsetSeqMetadata)."""


class Change(NamedTuple):
    """A field that differs: what the state was made with, and what the spec says now."""

    field: str
    was: object
    now: object
    weight: Literal["warned", "refused"]

    def __str__(self) -> str:
        return f"{self.field}: was {self.was!r}, is {self.now!r}"

    @property
    def meaning(self) -> str:
        """Of a warned field."""
        if self.field in FROZEN:
            return (f"{self.field}: the spec says {self.now!r}, in force is {self.was!r}: the first batch froze it into the "
                    "checkpoint; `sluice reset` begins anew from Kafka with the new one")
        if self.field == "logic":
            return "logic.py has changed, and the spec declares it compatible with the state's"
        return f"{self}, from the next batch on"


def fingerprint(spec: Pipeline, spark_version: str) -> Fingerprint:
    """Dotted field -> value, for a person to read and a machine to compare. Spark resumes state within a minor version."""
    fields: Fingerprint = {
        "spark": ".".join(spark_version.split(".")[:2]),
        "topic.name": spec.topic.name,
        "topic.event_time": spec.topic.event_time,
        "output_mode": spec.output_mode,
        "watermark_delay": str(spec.watermark_delay),
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
    if any(step.logic for step in spec.steps):
        fields["logic"] = registry.logic_digest(spec.name)
    return fields


def changes(stored: Fingerprint, wanted: Fingerprint, spec: Pipeline) -> list[Change]:
    """The fields that differ, by name."""
    return [
        Change(name, was, now, _weight(name, was, spec))
        for name in sorted(stored.keys() | wanted.keys())
        if (was := stored.get(name, ABSENT)) != (now := wanted.get(name, ABSENT))
    ]


def _weight(name: str, was: object, spec: Pipeline) -> Literal["warned", "refused"]:
    whole_rows = any(step.state_key(None) is None for step in spec.steps)  # the key is whatever columns enter
    more_fields = name.startswith("topic.fields.") and was == ABSENT and not whole_rows
    declared = name == "logic" and was in spec.compatible_logic
    return "warned" if name in (*FROZEN, "watermark_delay") or more_fields or declared else "refused"


def in_force(spec: Pipeline, stored: Fingerprint) -> Pipeline:
    """The spec with what the checkpoint has frozen."""
    frozen = {"provider": stored["state.provider"], "shuffle_partitions": stored["state.shuffle_partitions"]}
    state: State = spec.state.model_copy(update=frozen)
    return spec.model_copy(update={"state": state})
