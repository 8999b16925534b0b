"""Classification: what of a topic decides an outcome and may change freely.

State does not depend on it, but the account of a batch does: one that a killed run left is counted
by the values that its records were classified with, which a checkpoint keeps.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import zip_longest
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict

from spark_jobs.spec import Field, Pipeline, Rule, Topic
from spark_jobs.spec.several import Several

FACTS: Final = ("path", "one_of", "pattern", "at_least", "at_most")
"""What of a field may change, and makes other records malformed; besides `required`."""


class Classification(BaseModel):
    """The content of `classification` in identity.json. An older Sluice ignores it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    max_ahead: timedelta
    required: dict[str, bool]
    """Field of the topic -> whether a record without it is malformed. A field that is not here is
    newer.
    """
    facts: dict[str, dict[str, Any]] = {}
    """Field of the topic -> the FACTS that are not as usual."""
    tombstones: Literal["malformed", "dropped"] = "malformed"
    rules: tuple[dict[str, Any], ...] = ()
    """The topic's rules, with all that each declares."""
    topics: tuple[Classification, ...] = ()
    """Of several topics, each one's. One that is not here is newer."""


def classification(spec: Pipeline) -> Classification:
    """What the records of a run with this spec are classified with."""
    return _of(spec.topic)


def _of(topic: Topic) -> Classification:
    required = {field.name: field.required for field in topic.fields}
    facts = {field.name: _facts(field) for field in topic.fields}
    return Classification(
        max_ahead=topic.max_ahead,
        required=required,
        facts={name: of for name, of in facts.items() if of},
        tombstones=topic.tombstones,
        rules=tuple(rule.model_dump() for rule in topic.rules),
        topics=tuple(map(_of, topic.members)) if isinstance(topic, Several) else (),
    )


def _facts(field: Field) -> dict[str, Any]:
    return field.model_dump(mode="json", include={*FACTS}, exclude_defaults=True)


def with_classification(spec: Pipeline, stored: Classification, *, other_code: bool) -> Pipeline:
    """The spec with the fields and the values that a checkpoint's batches were classified with.

    With `other_code` the newer fields stay, none of them required: the present code may use them.
    """
    topic = spec.topic
    if isinstance(topic, Several):
        before = stored.topics or (stored,)  # of a pipeline that read one topic
        pairs = zip_longest(topic.members, before[: len(topic.members)])
        [first, *_] = members = [
            _with(each, was, other_code=other_code) if was else each for each, was in pairs
        ]
        # A newer field is in no newer topic, as in those that were there.
        newer = (_only(each, {*first.columns}) for each in members[len(before) :])
        topic = topic.with_members((*members[: len(before)], *newer))
    else:
        topic = _with(topic, stored, other_code=other_code)
    return spec if topic == spec.topic else spec.model_copy(update={"topic": topic})


def _with(topic: Topic, stored: Classification, *, other_code: bool) -> Topic:
    fields = tuple(
        field.model_copy(
            update={"required": stored.required.get(field.name, False)}
            | _stored(stored.facts.get(field.name, {}))
        )
        for field in topic.fields
        if other_code or field.name in stored.required
    )
    return topic.model_copy(
        update={
            "fields": fields,
            "max_ahead": stored.max_ahead,
            "tombstones": stored.tombstones,
            "rules": tuple(Rule(**of) for of in stored.rules),
        }
    )


def _only(topic: Topic, names: set[str]) -> Topic:
    fields = tuple(field for field in topic.fields if field.name in names)
    return topic.model_copy(update={"fields": fields})


def _stored(facts: dict[str, Any]) -> dict[str, Any]:
    usual = {name: Field.model_fields[name].default for name in FACTS}
    return usual | {
        name: tuple(value) if isinstance(value, list) else value for name, value in facts.items()
    }
