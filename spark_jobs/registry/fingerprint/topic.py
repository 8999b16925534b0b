"""Topic: what fingerprints have of a topic: its record form, and its classification.

The record form is all by which its bytes become rows: a change of it would decode the records of
one table in two ways. What is usual adds nothing: an older Sluice's fingerprint has none of it.

The classification decides an outcome and may change freely. State does not depend on it, but the
account of a batch does: one that a killed run left is counted by the values that its records were
classified with, which a checkpoint keeps.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import BaseModel, ConfigDict

from spark_jobs.spec import Field, Pipeline, Rule, Topic
from spark_jobs.spec.formats.format import JSON, TEXT
from spark_jobs.spec.inputs import COLUMN, Topics
from spark_jobs.spec.several import Several
from spark_jobs.values.path import as_text

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX: Final = "topic.fields."
ABSENT: Final = "(absent)"
"""The value of a field that a fingerprint has not."""


def record_form(inputs: Topics) -> dict[str, object]:
    """Dotted field -> value, as JSON types.

    Of several topics the first one's, and what is theirs alone of the others behind `topics[<n>].`:
    so topics can be added to a pipeline that reads one.
    """
    found = _record_form(inputs[0])
    if not inputs.named:
        return found
    found |= {f"{PREFIX}{COLUMN}": "string"}
    for number, other in enumerate(inputs[1:], 1):
        found |= {f"topics[{number}].{name}": of for name, of in _record_form(other).items()}
    return found


def in_topic(name: str, stored: Mapping[str, object]) -> tuple[dict[str, object], str] | None:
    """Of a field of another topic than the first: what is stored of that topic, and the field's
    name, both as of the first one. None for another field.

    >>> in_topic("topics[1].topic.format.kind", {"topics[1].topic.fields.id": "string"})
    ({'topic.fields.id': 'string'}, 'topic.format.kind')
    """
    if not name.startswith("topics["):
        return None
    prefix, _, own = name.partition(".")
    prefix += "."
    found = {
        each.removeprefix(prefix): of for each, of in stored.items() if each.startswith(prefix)
    }
    return found, own


def _record_form(topic: Topic) -> dict[str, object]:
    found: dict[str, object] = {"topic.envelope": topic.envelope} if topic.envelope else {}
    found |= {"topic.each": topic.each} if topic.each else {}
    for part, given, usual in (("format", topic.format, JSON), ("key", topic.key, TEXT)):
        if given != usual:
            hidden = {*given.not_rows}
            values = given.model_dump(mode="json", exclude_none=True, exclude=hidden)
            found |= {f"topic.{part}.{name}": value for name, value in values.items()}
            found[f"topic.{part}.kind"] = given.kind
            if given.within not in (given, JSON):
                found[f"topic.{part}.format.kind"] = given.within.kind
    for field in topic.fields:
        found[f"{PREFIX}{field.name}"] = field.type
        found |= _where(field)
    return found


def only_more(name: str, was: object, now: object, stored: Mapping[str, object]) -> bool:
    """Whether the change is a field more, or more paths of a field beside those that it had."""
    if not name.startswith(PREFIX):
        return False
    field, _, fact = name.removeprefix(PREFIX).partition(".")
    if f"{PREFIX}{field}" not in stored:
        return True
    before = was if isinstance(was, list) else [field]
    if fact != "path" or not isinstance(now, list):
        return False
    return [each for each in now if each in before] == before


def only_named(name: str, was: object, stored: Mapping[str, object]) -> bool:
    """Whether the change is the name of a format within another one, which an older Sluice left
    out, and its settings tell which one it is.
    """
    outer, _, last = name.rpartition(".")
    return last == "kind" and was == ABSENT and bool(stored.get(outer))


def new_fields(was: Mapping[str, object], now: Mapping[str, object]) -> tuple[str, ...]:
    """The fields that the second fingerprint has, and the first has not."""
    return tuple(name.removeprefix(PREFIX) for name in now if name not in was and is_field(name))


def why_kept(name: str, was: object, now: object) -> str:
    """Words for a change of a field that its column does not bear; empty for another."""
    if not is_field(name) or was == ABSENT:
        return ""
    if now == ABSENT:
        return "its column would stay; declared with required=False it is null from now on"
    return "columns of a Delta table that delta-rs writes keep their type"


def is_field(name: str) -> bool:
    """Whether it is a field of the topic's records itself, and not a fact of one."""
    return name.startswith(PREFIX) and "." not in name.removeprefix(PREFIX)


def _where(field: Field) -> dict[str, object]:
    given = field.model_dump(mode="json", include={"part", "format"}, exclude_none=True)
    given["path"] = [as_text(path) for path in field.paths]
    given |= {"up": field.up} if field.up else {}
    usual = {"path": [as_text((field.name,))], "part": "value"}
    return {
        f"{PREFIX}{field.name}.{fact}": value
        for fact, value in given.items()
        if value != usual.get(fact)
    }


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
