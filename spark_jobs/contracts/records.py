"""Records: which of them are no longer good, though state does not depend on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from spark_jobs.contracts.finding import Finding, Whom

if TYPE_CHECKING:
    from spark_jobs.contracts.contract import Contract
    from spark_jobs.registry.fingerprint.classification import Classification

BREAKS: Final = (Whom.producers,)
FIRST = "let producers send it first"


def of_records(was: Contract, now: Contract) -> Iterator[Finding]:
    """What producers of the topics send that is malformed or premature from the next batch on."""
    for topic, after in now.topics.items():
        if before := was.topics.get(topic):
            yield from _of_topic(f"topic {topic}", before, after)


def _of_topic(topic: str, was: Classification, now: Classification) -> Iterator[Finding]:
    for field, required in now.required.items():
        known = was.required.get(field)
        if required and not known:
            what = "is required now" if known is False else "is new and required"
            remedy = f"{FIRST}, or declare it with required=False"
            yield Finding(f"{topic}: field {field} {what}", BREAKS, remedy)
    for field in now.required.keys() & was.required.keys():
        before, after = was.facts.get(field, {}), now.facts.get(field, {})
        for fact in sorted(before.keys() | after.keys()):
            if _narrower(fact, before.get(fact), after.get(fact)):
                what = f"{fact} was {before.get(fact)!r}, is {after.get(fact)!r}"
                yield Finding(f"{topic}: field {field}: {what}", BREAKS, FIRST)
    if (was.tombstones, now.tombstones) == ("dropped", "malformed"):
        yield Finding(f"{topic}: tombstones are malformed now", BREAKS, "leave them dropped")
    if now.max_ahead < was.max_ahead:
        what = f"max_ahead was {was.max_ahead}, is {now.max_ahead}"
        yield Finding(f"{topic}: {what}: more records are premature", BREAKS, FIRST)


def _narrower(fact: str, was: Any, now: Any) -> bool:
    """Whether fewer values pass. Of the paths of a field, the fingerprint tells."""
    if fact == "path" or now is None:
        return False
    if was is None:
        return True
    match fact:
        case "one_of":
            return not {*was} <= {*now}
        case "at_least":
            return bool(now > was)
        case "at_most":
            return bool(now < was)
        case _:
            return bool(was != now)
