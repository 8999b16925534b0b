"""Compare: the pipelines of two moments, spec by spec: their outputs, records and state.

Consumers of the published table rely on outputs, and so do readers of its events. Records that were
good may be so no longer, though state does not depend on it. State is what a checkpoint and its
table do not survive: a run says it by the same comparison.

Which spec of before a checkpoint was made by, its state version says: behind a rebuild that is what
was NEXT.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spark_jobs.contracts.finding import Finding, Whom, of_rules
from spark_jobs.registry.fingerprint.environment import all_changes
from spark_jobs.registry.fingerprint.topic import why_kept

if TYPE_CHECKING:
    from spark_jobs.contracts.contract import Column, Contract, Side
    from spark_jobs.registry.fingerprint.fields import Declared, FieldChange
    from spark_jobs.registry.fingerprint.topic import Classification

    Columns = dict[str, Column]

CONSUMERS: Final = (Whom.consumers,)
TELL = "keep it until its consumers do without"


def of_outputs(was: Contract, now: Contract) -> Iterator[Finding]:
    """What consumers see of the change once it is published."""
    if was.columns is not None and now.columns is not None:
        yield from _columns(was.columns, now.columns)
    elif _made(was) != _made(now):
        yield Finding("the columns: only Spark can tell them, behind a Transform with sql")
    if was.key != now.key:
        before, after = (", ".join(each) or "none" for each in (was.key, now.key))
        yield Finding(f"the key of a row: was {before}, is {after}", CONSUMERS, TELL)
    modes = [of.fingerprint["output_mode"] for of in (was, now)]
    if modes[0] != modes[1]:
        what = f"output_mode: was {modes[0]}, is {modes[1]}: rows are written in another way"
        yield Finding(what, CONSUMERS, "streams over the table lose rows: read batches")
    if was.publish_at and not now.publish_at:
        what = "publish_at: what was published whole may show in part"
        yield Finding(what, CONSUMERS, TELL)
    if was.days and not now.days:
        what = "the asset with an event a day is gone: no range can be computed by itself"
        yield Finding(what, CONSUMERS, "schedule its consumers by the table's asset")


def _made(of: Contract) -> dict[str, object]:
    of_columns = ("steps[", "topic.fields.")
    return {name: value for name, value in of.fingerprint.items() if name.startswith(of_columns)}


def _columns(was: Columns, now: Columns) -> Iterator[Finding]:
    new = {name: now[name] for name in now if name not in was}
    for name, column in was.items():
        if name in now:
            yield from _column(name, column, now[name])
        elif renamed := _renamed(column, new):
            del new[renamed]
            yield Finding(f"column {name} is named {renamed}", CONSUMERS, TELL)
        else:
            yield Finding(f"column {name} is gone", CONSUMERS, TELL)
    for name, column in new.items():
        yield Finding(f"column {name} {column.type or ''}".rstrip() + " is new")


def _column(name: str, was: Column, now: Column) -> Iterator[Finding]:
    if was.type and now.type and was.type != now.type:
        yield Finding(f"column {name}: was {was.type}, is {now.type}", CONSUMERS, TELL)
    if was.nullable is False and now.nullable:
        yield Finding(f"column {name} may be null now", CONSUMERS, "tell its consumers")


def _renamed(column: Column, new: Columns) -> str | None:
    same = (
        name
        for name, each in new.items()
        if column.made_of and (each.made_of, each.type) == (column.made_of, column.type)
    )
    return next(same, None)


PRODUCERS: Final = (Whom.producers,)
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
            yield Finding(f"{topic}: field {field} {what}", PRODUCERS, remedy)
    for field in now.required.keys() & was.required.keys():
        before, after = was.facts.get(field, {}), now.facts.get(field, {})
        for fact in sorted(before.keys() | after.keys()):
            if _narrower(fact, before.get(fact), after.get(fact)):
                what = f"{fact} was {before.get(fact)!r}, is {after.get(fact)!r}"
                yield Finding(f"{topic}: field {field}: {what}", PRODUCERS, FIRST)
    if (was.tombstones, now.tombstones) == ("dropped", "malformed"):
        yield Finding(f"{topic}: tombstones are malformed now", PRODUCERS, "leave them dropped")
    if now.max_ahead < was.max_ahead:
        what = f"max_ahead was {was.max_ahead}, is {now.max_ahead}"
        yield Finding(f"{topic}: {what}: more records are premature", PRODUCERS, FIRST)
    yield from of_rules(topic, was, now)


def _narrower(fact: str, was: Any, now: Any) -> bool:
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


BESIDE = "write it as NEXT, and `sluice rebuild` computes it beside the live table"
DEEP = "only Spark tells its columns and types: `sluice validate --deep` beside the live table"
KEEPS_COLUMNS = (".where", ".window")
"""Fields whose expressions have no column of their own."""
ANOTHER_TOPIC = "another topic is another pipeline: give it a folder of its own"
ANOTHER_ROOT = "keep it; another root is another table, for a pipeline with another name"


def of_state(was: Contract, now: Contract, declared: Declared) -> Iterator[Finding]:
    """One for each field that stored state depends on and that differs."""
    stored, wanted = (was.fingerprint, was.environment), (now.fingerprint, now.environment)
    for change in all_changes(stored, wanted, declared):
        if change.weight == "warned":
            unknown = change.expressions and not change.field.endswith(KEEPS_COLUMNS)
            yield Finding(change.meaning, *(((Whom.unknown,), DEEP) if unknown else ()))
        elif why_kept(change.field, change.was, change.now):
            yield Finding(str(change), (Whom.state, Whom.table), BESIDE)
        else:
            yield Finding(str(change), (Whom.state,), _way(change))
    for topic, cluster in now.clusters.items():
        if cluster != (before := was.clusters.get(topic, cluster)):
            what = f"cluster of {topic}: was {before!r}, is {cluster!r}"
            yield Finding(what, (Whom.state,), ANOTHER_TOPIC)
    if was.root != now.root:
        what = f"root: was {was.root!r}, is {now.root!r}: runs are refused there"
        yield Finding(what, (Whom.state, Whom.table, Whom.consumers), ANOTHER_ROOT)
    if was.partition_by != now.partition_by:
        parts_before, after = (
            ", ".join(each) or "none" for each in (was.partition_by, now.partition_by)
        )
        what = f"layout.partition_by: was {parts_before}, is {after}"
        yield Finding(what, (Whom.table,), BESIDE)
    for name in sorted(now.layout):
        if now.layout[name] != was.layout.get(name):
            yield Finding(f"layout.{name}: was {was.layout.get(name)!r}, is {now.layout[name]!r}")


def _way(change: FieldChange) -> str:
    if change.field == "topic.name":
        return ANOTHER_TOPIC
    old, where = "", ""
    if change.field == "logic":
        old, where = repr(change.was), "compatible_logic"
    elif change.expressions:
        old, where = ", ".join(map(repr, change.expressions)), "compatible_expressions"
    return f"{BESIDE}; or, if it can use the state, add {old} to {where}" if old else BESIDE


GONE = Finding(
    "the pipeline is gone: nothing writes its table any more",
    (Whom.consumers,),
    "keep it until its consumers do without",
)
NEW = Finding("the pipeline is new")
DISCARD = "`sluice rebuild --discard` if it has begun; if it has switched, keep it as it was"


def compare(
    was: Mapping[str, Side], now: Mapping[str, Side], declared: Mapping[str, Declared]
) -> dict[str, list[Finding]]:
    """Pipeline -> its findings, sorted by name, without pipelines that have none. `declared` is of
    each that is there now.
    """
    found = {
        name: [*_of(was.get(name), now.get(name), declared.get(name))]
        for name in sorted(was.keys() | now.keys())
    }
    return {name: findings for name, findings in found.items() if findings}


class Broken(NamedTuple):
    """What a command that refuses the changes says."""

    changes: int
    whom: str
    pipelines: str


def broken(found: Mapping[str, list[Finding]], accepted: Collection[Whom]) -> Broken | None:
    """What breaks others than those; None if nothing does."""
    left = {
        name: [of for each in findings if (of := {*each.breaks}.difference(accepted))]
        for name, findings in found.items()
    }
    every = [of for each in left.values() for of in each]
    if not every:
        return None
    pipelines = [name for name, each in left.items() if each]
    whom = [each for each in Whom if any(each in of for of in every)]
    return Broken(len(every), ", ".join(whom), ", ".join(pipelines))


def _of(was: Side | None, now: Side | None, declared: Declared | None) -> Iterator[Finding]:
    if now is None:
        yield GONE
    elif was is None:
        yield NEW
    elif was.spec is None:
        yield Finding(f"cannot be compared: {was.error}", (Whom.unknown,), "look at it yourself")
    elif now.spec is not None and declared is not None:
        yield from _of_spec(was, now.spec, declared)
        yield from _of_next(was.spec, was.next, now)


def _of_spec(was: Side, spec: Contract, declared: Declared) -> Iterator[Finding]:
    assert was.spec is not None
    before = was.spec
    if spec.version != before.version and was.next and was.next.version == spec.version:
        before = was.next
        yield Finding(f"NEXT is SPEC now: state version {spec.version} must have switched before")
    if spec.version == before.version:
        yield from of_state(before, spec, declared)
    else:
        what = f"state.version: was {before.version}, is {spec.version}, and it never was NEXT"
        yield Finding(what, (Whom.state,), BESIDE)
    yield from of_outputs(before, spec)
    yield from of_records(before, spec)


def _of_next(spec: Contract, was: Contract | None, now: Side) -> Iterator[Finding]:
    """Of what a rebuild computes, only the switch shows: to consumers."""
    assert now.spec is not None
    versions = {each.version for each in (now.spec, now.next) if each}
    if was and was.version not in versions:
        yield Finding(f"NEXT of state version {was.version} is gone", (Whom.state,), DISCARD)
    following = now.next
    if following is None or following == was:
        return
    if was and was.version == following.version:
        yield Finding("NEXT is another one of the same state version", (Whom.state,), DISCARD)
    for each in of_outputs(spec, following):
        yield each._replace(change=f"at NEXT's switch: {each.change}")
