"""Record form: all of a topic by which its bytes become rows, for the fingerprint: a change of it
would decode the records of one table in two ways.

What is usual adds nothing: an older Sluice's fingerprint has none of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spark_jobs.spec.formats.format import JSON, TEXT
from spark_jobs.spec.inputs import COLUMN, Topics
from spark_jobs.values.path import as_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spark_jobs.spec import Field, Topic

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
    return tuple(name.removeprefix(PREFIX) for name in now if name not in was and _is_field(name))


def why_kept(name: str, was: object, now: object) -> str:
    """Words for a change of a field that its column does not bear; empty for another."""
    if not _is_field(name) or was == ABSENT:
        return ""
    if now == ABSENT:
        return "its column would stay; declared with required=False it is null from now on"
    return "columns of a Delta table that delta-rs writes keep their type"


def _is_field(name: str) -> bool:
    return name.startswith(PREFIX) and "." not in name.removeprefix(PREFIX)


def _where(field: Field) -> dict[str, object]:
    given = field.model_dump(mode="json", include={"part", "format"}, exclude_none=True)
    given["path"] = [as_text(path) for path in field.paths]
    usual = {"path": [as_text((field.name,))], "part": "value"}
    return {
        f"{PREFIX}{field.name}.{fact}": value
        for fact, value in given.items()
        if value != usual.get(fact)
    }
