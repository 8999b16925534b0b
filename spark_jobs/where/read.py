"""Read: records at their exact offsets, by Kafka's client and the decoder in Python: no JVM.

What a Transform makes of them only Spark can say (by_spark.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from spark_jobs.decode.formats import elements_of
from spark_jobs.decode.record_decoder import prepare
from spark_jobs.draft.sample import Sampled, records
from spark_jobs.repair.offsets.slices import merged
from spark_jobs.source.place import Place
from spark_jobs.source.sources import source_of
from spark_jobs.spec.inputs import COLUMN
from spark_jobs.values.own_columns import EMPTY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.positions import Parts
    from spark_jobs.spec import Pipeline, Topic


DROPPED = -1
"""In place of a count of steps: it enters none."""


class Seen(NamedTuple):
    """A record, as today's spec has it."""

    reached: int
    """How many of the steps before the first that remembers have let it through; DROPPED of a
    tombstone, of a record that a rule drops, or of one that is not good.
    """
    row: dict[str, Any]
    """What enters the next step, if it has passed all; else nothing. Times are numbers."""
    why: str | None = None
    """Why it is malformed by today's spec."""
    rules: str | None = None
    """Which rules it fails, if one of them drops it."""
    untold: str = ""
    """Why the steps may have said something else in its batch."""


def sampled(
    settings: Settings, spec: Pipeline, parts: Parts, *, uncommitted: bool = False
) -> dict[Place, Sampled]:
    """The records at these offsets, and some between them. `uncommitted`: those of aborted
    transactions too.

    Raises KafkaUnreachable, KafkaRefused, KafkaConfigInvalid.
    """
    near = {partition: tuple(merged(ranges)) for partition, ranges in parts.items()}
    read = source_of(spec, settings).sampled(near, uncommitted=uncommitted)
    return {Place(each.partition, each.offset): each for each in read}


def decoded(
    settings: Settings, spec: Pipeline, sample: dict[Place, Sampled], root: str
) -> dict[Place, Seen]:
    """What they are, where no step before state leaves out any."""
    found: dict[Place, Seen] = {}
    for topic in spec.inputs:
        places = [each for each in sample if spec.inputs.of_partition(each.partition) is topic]
        if not places:
            continue
        prepared = prepare(topic, root, settings)
        of = [*_records(topic, prepared.given[0], {each: sample[each] for each in places})]
        columns, told = prepared.decoder().decode(records([each.record for each in of]))
        rows = values(pa.table(columns, names=[*topic.columns]))
        form = dict.fromkeys(spec.inputs.columns) if spec.inputs.named else {}
        named = {COLUMN: topic.name} if spec.inputs.named else {}
        for each, row, why in zip(of, rows, told, strict=True):
            no_row = each.dropped or each.why is not None or why is not None
            bad = None if each.dropped else each.why or why
            found[each.place] = Seen(DROPPED, {}, bad) if no_row else Seen(0, form | row | named)
    return found


class _Record(NamedTuple):
    place: Place
    record: Sampled
    dropped: bool
    """Whether it is none that enters a step, and is not malformed."""
    why: str | None = None
    """Why it is malformed, whatever its fields are."""


def _records(topic: Topic, given: object, sample: dict[Place, Sampled]) -> Iterator[_Record]:
    """Those of the values."""
    drops = topic.tombstones == "dropped"
    if not topic.each:
        for place, value in sample.items():
            own = value._replace(partition=place.partition)
            yield _Record(place, own, drops and value.value is None)
        return
    found = elements_of(topic, given).of(records([*sample.values()]))
    for (place, value), elements in zip(sample.items(), found, strict=True):
        for each in elements:
            own = value._replace(partition=place.partition, value=each.value)
            dropped = each.number == EMPTY or (drops and value.value is None)
            yield _Record(Place.at(*place[:2], each.number), own, dropped, each.why)


def values(table: pa.Table) -> list[dict[str, Any]]:
    """Rows. Times are microseconds and days are numbers: Arrow gives Python no time that Python has
    not.
    """
    for at, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            micros = table.column(at).cast(pa.timestamp("us", field.type.tz)).cast(pa.int64())
            table = table.set_column(at, field.name, micros)
        elif pa.types.is_date32(field.type):
            table = table.set_column(at, field.name, table.column(at).cast(pa.int32()))
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def key_of(row: Mapping[str, Any], names: Sequence[str]) -> str:
    """One text for equal values of these columns, as Spark compares them."""
    return repr(
        [0.0 if (value := row[name]) == 0 and isinstance(value, float) else value for name in names]
    )
