"""The fields that stored state depends on, saved beside the checkpoint. Sluice checks changes to
them before Spark starts.

A field is free, warned or refused. Free fields are not here: schedule, checks, limits, budgets,
descriptions. A warned field may change: the run logs what that means. A change to any other field
is refused: Spark would fail, or resume with wrong numbers.

An expression may replace one that the spec names in compatible_expressions. It may change values
alone: a run compares the types of the state before and after (runs/resume/other_state.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any, Final, Literal, NamedTuple

from spark_jobs.registry.fingerprint.topic import (
    ABSENT,
    in_topic,
    is_field,
    only_more,
    only_named,
    record_form,
    why_kept,
)
from spark_jobs.spec import Field, Pipeline, State
from spark_jobs.spec.inputs import BETWEEN

CODE: Final = "spark_jobs.registry.fingerprint.code:of_pipeline"
_SQL = ("where", "sql", "measures", "window")
_FIELD = re.compile(rf"steps\[(?P<index>\d+)\]\.(?P<name>{'|'.join(_SQL)})")
Texts = dict[str, str]
"""Name of an expression within a field -> its SQL."""


def replaced(field: str, was: object, now: object) -> tuple[str, ...] | None:
    """The old expressions that a change of this field of the fingerprint replaces; None if it
    changes more than expressions, or no expression.
    """
    match = _FIELD.fullmatch(field)
    if not match:
        return None
    before, after = _texts(was), _texts(now)
    if before is None or after is None or [*before] != [*after] or _rest(was) != _rest(now):
        return None
    return tuple(sql for name, sql in before.items() if after[name] != sql)


def expressions(field: str, value: object) -> tuple[str, ...]:
    """The expressions in a value of this field of the fingerprint."""
    texts = _texts(value) if _FIELD.fullmatch(field) else None
    return tuple((texts or {}).values())


def with_expressions(spec: Pipeline, stored: Mapping[str, object]) -> Pipeline:
    """The spec with the expressions that a stored fingerprint has, where only they differ."""
    steps = tuple(
        step.with_expressions({name: stored.get(f"steps[{at}].{name}") for name in _SQL})
        for at, step in enumerate(spec.steps)
    )
    return spec if steps == spec.steps else spec.model_copy(update={"steps": steps})


def _texts(value: object) -> Texts | None:
    match value:
        case str():
            return {"": value} if value != "(absent)" else None
        case {"gap_sql": str(gap)}:
            return {"gap_sql": gap}
        case list():
            return {str(name): str(sql) for name, sql in value}
        case _:
            return None


def _rest(value: object) -> object:
    return {**value, "gap_sql": ""} if isinstance(value, dict) else None


Fingerprint = dict[str, object]
_ABOUT: Any = {"__all__": {*Field.model_fields} - {"name", "type", "required"}}
_NOT_STATE: Any = {
    "stateful": True,
    "initial_state": True,
    "forget_deletes_after": True,
    "output": _ABOUT,
    "state": _ABOUT,
    "dimension": {"key": True, "fields": _ABOUT},
}
"""Fields of a step that are left out. Spark reads the initial state in the first batch only."""
_USUAL: Any = {"missing": "null"}
"""Values that are left out, since older checkpoints lack the field."""
_COUNTED: Final = "counted"
"""Whether a step's rows can be counted with this delay (Step.counting). They can be no longer; but
what a state took in with another delay cannot be counted from now on.
"""
FROZEN = ("state.shuffle_partitions", "state.provider", "state.format")
"""The first batch writes these into the checkpoint, and Spark goes by them (OffsetSeqMetadata).
`sluice repartition` changes the first one.
"""

COUNTED_SINCE = (
    "with this watermark_delay each row finds one at most and is counted, but the state has rows "
    "of the old one: keep that, or rebuild"
)
MOVED = "until `sluice repartition` moves the state to {now} stores"
ANOTHER_STORE = (
    "which its first batch fixed; `sluice repartition` moves only RocksDB's state, so `sluice "
    "rebuild` computes this one anew in {now} stores, with NEXT in spec.py"
)
NO_STATE = "which its first batch fixed; no step keeps state, so nothing depends on it"


class FieldChange(NamedTuple):
    """A field that differs: its value in the checkpoint, and its value in the spec."""

    field: str
    was: object
    now: object
    weight: Literal["warned", "refused"]
    detail: str = ""

    def __str__(self) -> str:
        detail = f" ({self.detail})" if self.detail else ""
        return f"{self.field}: was {self.was!r}, is {self.now!r}{detail}"

    @property
    def expressions(self) -> tuple[str, ...]:
        """The old expressions, if only expressions changed; else empty."""
        return replaced(self.field, self.was, self.now) or ()

    @property
    def meaning(self) -> str:
        """What the change of a warned field means for the run."""
        if self.field == "state.shuffle_partitions":
            return (
                f"{self.field}: the spec sets {self.now!r}; the checkpoint uses {self.was!r}, "
                f"{self.detail.format(now=self.now)}; or set {self.was!r} in spec.py"
            )
        if self.field in FROZEN:
            return (
                f"{self.field}: the spec sets {self.now!r}; the checkpoint uses {self.was!r}, "
                "which its first batch fixed; `sluice reset` starts over from Kafka with the new "
                "value"
            )
        if self.field == "logic":
            which = self.detail.removeprefix("changed: ") or "logic.py"
            return (
                f"{which} changed; the spec declares the code compatible with the stored state "
                "(compatible_logic)"
            )
        if self.field == "spark":
            return (
                f"{self}: the state is read, and written in the newer Spark's form; the older "
                "Spark cannot resume it any more"
            )
        if self.expressions:
            return (
                f"{self}; the spec declares the old expression compatible with the stored state "
                "(compatible_expressions)"
            )
        return f"{self}, from the next batch on"


class Declared:
    """What decides which changes of a spec its checkpoint survives."""

    def __init__(self, spec: Pipeline) -> None:
        self.logic = spec.compatible_logic
        self.expressions = spec.compatible_expressions
        self.whole_rows = any(
            step.stores_rows or step.state_key(None) is None for step in spec.steps
        )
        """Whether the state of a step has all columns that enter it."""
        self.keeps_state = spec.keeps_state
        self.inputs = spec.inputs
        """How its partitions are told."""
        self.skips_lost = spec.on_lost_records == "skip"
        """Whether records that retention removed unread are skipped."""


def fingerprint(spec: Pipeline, spark_version: str) -> Fingerprint:
    """Dotted field -> value, as JSON types.

    Of Spark's version it has the minor version, within which Spark resumes state.
    """
    fields: Fingerprint = {
        "spark": ".".join(spark_version.split(".")[:2]),
        "topic.name": spec.inputs.name,
        "topic.event_time": spec.inputs.event_time,
        "output_mode": spec.output_mode,
        "watermark_delay": str(spec.watermark_delay),
        "state.provider": spec.state.provider,
        "state.format": spec.state.format,
        "state.shuffle_partitions": spec.state.shuffle_partitions,
    }
    fields |= record_form(spec.inputs)
    for index, step in enumerate(spec.steps):
        for name, value in step.model_dump(
            mode="json", exclude=_NOT_STATE, exclude_none=True
        ).items():
            if _USUAL.get(name) == value:
                continue
            # Spark stores measures by position, not by name. Two dicts are equal in any order; two
            # lists are not.
            fields[f"steps[{index}].{name}"] = (
                [list(pair) for pair in value.items()] if name == "measures" else value
            )
        if step.sides:
            fields[f"steps[{index}].sides"] = [side.name for side in step.sides]
        if step.counting(spec.watermark_delay):
            fields[f"steps[{index}].{_COUNTED}"] = True
    if any(step.logic for step in spec.steps):
        fields["logic"] = resolve_name(CODE)(spec.name)
    return fields


def changes(stored: Fingerprint, wanted: Fingerprint, declared: Declared) -> list[FieldChange]:
    """The fields that differ, sorted by name."""
    return [
        FieldChange(
            name,
            was,
            now,
            _weight(name, was, now, declared, stored),
            _detail(name, stored, wanted, declared) or why_kept(name, was, now),
        )
        for name in sorted(stored.keys() | wanted.keys())
        if (was := stored.get(name, ABSENT)) != (now := wanted.get(name, ABSENT))
    ]


def _detail(name: str, stored: Fingerprint, wanted: Fingerprint, declared: Declared) -> str:
    if name.endswith(f".{_COUNTED}"):
        return COUNTED_SINCE if name in wanted else ""
    if name != "state.shuffle_partitions":
        return ""
    if not declared.keeps_state:
        return NO_STATE
    return MOVED if movable(stored, wanted["state.format"]) else ANOTHER_STORE


def movable(stored: Fingerprint, form: object) -> bool:
    """Whether Spark's offline repartition reads this state: RocksDB's, of the format that names the
    snapshots in the commits.
    """
    return stored["state.provider"] == "rocksdb" and stored.get("state.format") == form


def _weight(
    name: str, was: object, now: object, declared: Declared, stored: Fingerprint
) -> Literal["warned", "refused"]:
    if (of_topic := in_topic(name, stored)) is not None:
        stored, name = of_topic
        if not stored:  # the topic is new
            return "warned"
    stored_whole = declared.whole_rows and was == ABSENT and is_field(name)
    more_fields = only_more(name, was, now, stored) and not stored_whole
    corrected = replaced(name, was, now)
    known = name == "logic" and was in declared.logic
    known = known or bool(corrected and {*corrected} <= {*declared.expressions})
    newer = name == "spark" and _newer_minor(str(was), str(now))
    newer |= only_named(name, was, stored)
    newer |= name == "topic.name" and str(now).startswith(f"{was}{BETWEEN}")
    uncounted = name.endswith(f".{_COUNTED}") and now == ABSENT
    free = name in (*FROZEN, "watermark_delay") or more_fields or known or newer or uncounted
    return "warned" if free else "refused"


def idle_declarations(wanted: Fingerprint, declared: Declared) -> tuple[str, ...]:
    """A line for each declared expression that the spec still has, or has again.

    It counts for whatever replaces that expression next, which nobody has looked at yet.
    """
    return tuple(
        f"compatible_expressions has {sql!r}, which is the present {field}: any change of it would "
        "pass as compatible; remove it from spec.py, and declare it with the change"
        for sql in declared.expressions
        for field in [name for name, value in wanted.items() if sql in expressions(name, value)][:1]
    )


def _newer_minor(was: str, now: str) -> bool:
    """Spark reads state of older minor versions, not of newer ones (its Structured Streaming guide,
    on recovering from changes).
    """
    before, after = (tuple(map(int, text.split(".")[:2])) for text in (was, now))
    return before[0] == after[0] and before < after


def in_force(spec: Pipeline, stored: Fingerprint) -> Pipeline:
    """The spec in force: with the state settings that the checkpoint fixed."""
    frozen = {
        "provider": stored["state.provider"],
        "shuffle_partitions": stored["state.shuffle_partitions"],
    }
    state: State = spec.state.model_copy(update=frozen)
    return spec.model_copy(update={"state": state})
