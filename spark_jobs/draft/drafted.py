"""Drafted: a pipeline for a topic, from a sample of its records."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final, NamedTuple

from spark_jobs.draft.beside import beside
from spark_jobs.draft.csv_topic import of_csv
from spark_jobs.draft.disorder import Disorder, disorder
from spark_jobs.draft.evidence import of_key, of_time
from spark_jobs.draft.fields import THE_KEY, THE_TIME, Drafted, Reading, optional, required
from spark_jobs.draft.json_topic import of_json, payload
from spark_jobs.draft.registered_topic import is_registered, of_registered
from spark_jobs.draft.sample import Sampled, compressed_by, inflated
from spark_jobs.draft.tried import Tried, tried
from spark_jobs.errors import SampleUnusable
from spark_jobs.spec import (
    Check,
    Compressed,
    Deduplicate,
    Field,
    Format,
    Latest,
    Pipeline,
    Topic,
    within,
)
from spark_jobs.spec.fields.place import Envelope
from spark_jobs.spec.formats.format import TEXT
from spark_jobs.spec.steps.following import COMPARABLE

ARRIVED: Final = Field(name="arrived_at", type="timestamp", part="timestamp")
"""The event time of records without a time: Kafka's."""
CHANGED: Final = Field(
    name="changed_at", type="timestamp", part="envelope", path="ts_ms", format="ms"
)
OP: Final = Field(name="op", type="string", part="envelope")


class Draft(NamedTuple):
    """A pipeline, and why it is so."""

    spec: Pipeline
    notes: Mapping[str, str]
    """Field, or part of the spec -> what a person should look at: the sample cannot tell."""
    shown: Mapping[str, str]
    """Choice, event_time or key -> what the sample shows of it."""
    disorder: Disorder
    tried: Tried
    """What the topic makes of the sample."""

    keys: tuple[str, ...]
    """Of its one step."""

    @property
    def topic(self) -> Topic:
        [topic] = self.spec.inputs
        return topic


def draft(
    name: str,
    topic: str,
    sample: Sequence[Sampled],
    root: str = "",
    *,
    cluster: str = "",
    of_root: str = "",
) -> Draft:
    """Of records of a registry `root` has the schemas; `of_root` is the name of the pipeline's.
    Raises SampleUnusable, or SpecInvalid where the name is none.
    """
    ordered = sorted(sample, key=lambda each: (each.timestamp or 0, each.partition, each.offset))
    of_them, fields, format_, envelope, each, told = _read(ordered, root)
    notes = dict(told)
    if not fields:
        raise SampleUnusable.no_fields(sampled=len(ordered))
    shown = dict[str, str]()
    key: Format = TEXT
    stamps = [each.timestamp for each in of_them]
    if envelope is None and not is_registered(ordered):
        clock_ms = median(filter(None, stamps)) if any(stamps) else 0
        more, key = beside(of_them, fields, clock_ms, notes, shown)
        fields = [*fields, *more]
    clock, fields = _clock(fields, envelope, stamps, notes, shown)
    step, known_by = _step(fields, clock, envelope, of_them, notes, shown)
    needed = {clock, *known_by, *step.placed}
    fields = [
        required(each)
        if each.field.name in needed
        else optional(each)
        if envelope == "debezium"  # of a delete only the key may be there
        else each
        for each in fields
    ]
    notes = {each.field.name: each.note for each in fields if each.note} | notes
    made = Topic(
        name=topic,
        cluster=cluster,
        event_time=clock,
        fields=tuple(each.field for each in fields),
        envelope=envelope,
        each=each,
        format=format_,
        key=key,
        tombstones="dropped" if any(each.value is None for each in ordered) else "malformed",
    )
    outcome = tried(made, ordered, root)
    if len(outcome.rows) * 2 < len(of_them):
        reason, records = outcome.malformed.most_common(1)[0]
        raise SampleUnusable.mostly_malformed(records=records, sampled=len(ordered), reason=reason)
    behind = disorder(outcome.times_ms)
    spec = Pipeline(
        name=name,
        about=f"Records of the topic {topic}.",
        topic=made,
        root=of_root,
        watermark_delay=behind.delay if step.stateful else None,
        steps=(step,),
        output_checks=_checks(step.keys),
        state_checks=(within("malformed_share", 0.02),),
    )
    return Draft(spec, notes, shown, behind, outcome, step.keys)


def _read(ordered: Sequence[Sampled], root: str) -> Reading:
    if is_registered(ordered):
        return of_registered(ordered, root)
    if by := compressed_by(ordered):
        plain = inflated(ordered, by)
        inner = of_csv(plain) or of_json(plain)
        return inner._replace(format=Compressed(by=by, format=inner.format))
    return of_csv(ordered) or of_json(ordered)


def _clock(
    fields: list[Drafted],
    envelope: Envelope | None,
    stamps: Sequence[int | None],
    notes: dict[str, str],
    shown: dict[str, str],
) -> tuple[str, list[Drafted]]:
    nothing = fields[0].leaf._replace(column=[])
    if envelope == "debezium":
        return CHANGED.name, [*fields, Drafted(OP, nothing), Drafted(CHANGED, nothing)]
    choice = of_time(fields, stamps)
    shown |= {"event_time": choice.shown} if choice.shown else {}
    notes |= {THE_TIME: choice.look} if choice.look else {}
    if choice.fields:
        return choice.fields[0].field.name, fields
    notes[ARRIVED.name] = "no field is a time in every record: the event time is Kafka's timestamp"
    return ARRIVED.name, [*fields, Drafted(ARRIVED, nothing)]


def _step(
    fields: Sequence[Drafted],
    clock: str,
    envelope: Envelope | None,
    ordered: Sequence[Sampled],
    notes: dict[str, str],
    shown: dict[str, str],
) -> tuple[Deduplicate | Latest, tuple[str, ...]]:
    """And of its key what each record must have."""
    if envelope == "debezium":
        latest = _latest(fields, ordered, notes)
        return latest, latest.keys
    if envelope == "cloudevents" and (keys := _of_cloud(fields)):
        return Deduplicate(keys=keys), keys
    arrival = ARRIVED.name if fields[-1].field == ARRIVED else ""
    choice = of_key(fields, clock, arrival)
    shown |= {"key": choice.shown} if choice.shown else {}
    notes |= {THE_KEY: choice.look} if choice.look else {}
    if choice.fields:
        keys = tuple(each.field.name for each in choice.fields)
        return Deduplicate(keys=keys), keys
    # Copies have other times of arrival, each its own.
    apart = {*choice.apart, arrival} - {""}
    rest = tuple(each.field.name for each in fields if each.field.name not in apart)
    return Deduplicate(keys=rest if apart else ("*",)), ()


def _of_cloud(fields: Sequence[Drafted]) -> tuple[str, ...]:
    """The names of an event's source and id, by which its specification tells it apart."""
    own = {each.leaf.path: each.field.name for each in fields if each.field.part == "envelope"}
    both = (("source",), ("id",))
    return tuple(own[path] for path in both) if {*both} <= own.keys() else ()


def _latest(fields: Sequence[Drafted], ordered: Sequence[Sampled], notes: dict[str, str]) -> Latest:
    """By the key of Kafka's records, which Debezium makes of the table's; by the log's position."""
    of_row = [each for each in fields if each.field.part == "value"]
    names = {str(each.leaf.path[-1]): each.field.name for each in of_row}
    of_kafka = _key_names(ordered)
    keys = tuple(names[key] for key in of_kafka if key in names)
    if not keys or len(keys) < len(of_kafka):
        able = [each.field.name for each in of_row if COMPARABLE.fullmatch(each.field.type)]
        ids = [name for name in able if name.endswith("id")]
        keys = ((ids or able or [of_row[0].field.name])[0],)
        notes[THE_KEY] = "the key is a guess: Kafka's keys name no column, or others"
    beside = [each for each in fields if each.field.part == "envelope"]
    positions = [each.field.name for each in beside if each.leaf.path == ("source", "lsn")]
    return Latest(keys=keys, order_by=(*positions, CHANGED.name), deletes="op = 'd'")


def _key_names(ordered: Sequence[Sampled]) -> list[str]:
    for each in ordered:
        try:
            read = json.loads((each.key or b"").decode())
        except (ValueError, RecursionError):
            continue
        if isinstance(read, dict):
            return list(payload(read))
    return []


def _checks(keys: Sequence[str]) -> tuple[Check, ...]:
    if len(keys) != 1 or "*" in keys:
        return ()
    return (Check(type="expect_column_values_to_be_unique", kwargs={"column": keys[0]}),)
