"""Schema look: before a drain reads records that begin with the ids of schemas, it finds the ids,
and asks the registry for those that are not kept under the root.

The driver asks, and no task: executors may have no secret of the registry, no way to it, and no
right to write the root; and an answer that fails must fail the run before a record is read. It
costs one more read of the new offsets, of five bytes a record.
"""

from __future__ import annotations

import logging
import re
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spark_jobs.decode.schemas.kept import Kept
from spark_jobs.decode.schemas.registry import Registry
from spark_jobs.decode.schemed.registered import GUID, HEAD, header_of, not_kept, schema_id
from spark_jobs.errors import RegistryRefused, RegistryUnreachable
from spark_jobs.ops import ops_tables
from spark_jobs.source.sources import source_of
from spark_jobs.values.numbering import within

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from pyspark.sql import DataFrame, SparkSession
    from upath import UPath

    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.port import SourceState
    from spark_jobs.source.positions import Parts, Positions
    from spark_jobs.spec import Pipeline, Topic
    from spark_jobs.spec.inputs import Topics

LOG = logging.getLogger(__name__)
MOST_IDS: Final = 2_000
"""Of one look, the most frequent ones. Records of another format give as many ids as they like, and
a producer's records never end a run: those with any other id are malformed.
"""
_UNASKED: Final = re.compile(not_kept("(ID)").replace("ID", r"\d+|[0-9a-f-]{36}") + "$")
"""The end of a reason, of a value or a key."""


class Found(NamedTuple):
    """An id in the new records."""

    id: str
    records: int
    partition: int
    offset: int
    """The first of them, of the first partition that has it."""

    def told(self, inputs: Topics) -> str:
        first = f"partition {inputs.shown(self.partition)}, offset {self.offset:,}"
        return f"{self.id} in {self.records:,} (first: {first})"


def look(
    spec: Pipeline, settings: Settings, spark: SparkSession, topic: SourceState, done: Positions
) -> None:
    """Keep the schemas of all records from these offsets to the topic's end.

    Raises RegistryUnreachable, RegistryRefused.
    """
    parts = topic.begins.maximum(done).parts(topic.latest)
    if not parts:
        return
    for own, part, format_ in _registries(spec, parts):
        records = source_of(spec, settings).read(spark, own)
        found = _ids(records, part, in_header=format_.reads_headers)
        kept = Kept(settings.root, format_.registry)
        if len(found) > MOST_IDS:
            kept.note_others()
            LOG.warning(
                "%s: the new %ss have more than %s ids of schemas: records with another id than "
                "the most frequent ones are malformed",
                spec.name,
                part,
                f"{MOST_IDS:,}",
            )
            del found[MOST_IDS:]
        if not done:
            _hold(spec, kept, [each.id for each in found], settings)
        had = kept.fetch(
            [each.id for each in found], lambda: Registry(settings.kafka_config.registry())
        )
        known = "; ".join(each.told(spec.inputs) for each in found if had[each.id])
        if known:
            LOG.info("%s: schemas of the new %ss: %s", spec.name, part, known)
        if missing := "; ".join(each.told(spec.inputs) for each in found if not had[each.id]):
            LOG.warning(
                "%s: the registry has no schema %s that can be read: these records are malformed",
                spec.name,
                missing,
            )


def _registries(spec: Pipeline, parts: Parts) -> Iterator[tuple[Parts, str, Any]]:
    for number, topic in enumerate(spec.inputs):
        if own := within(parts, number):
            yield from ((own, part, format_) for part, format_ in _own(topic).items())


def _own(topic: Topic) -> dict[str, Any]:
    """The parts of its records for which this module asks, and their formats."""
    return {part: each for part, each in topic.registered.items() if each.asks == __name__}


def _hold(spec: Pipeline, kept: Kept, ids: list[str], settings: Settings) -> None:
    """From a topic's beginning, the kept schemas must be the registry's, if it can be asked: a
    rebuild in years goes on without it.
    """
    if not (given := settings.kafka_config.registry()):
        return
    try:
        kept.refuse_others(ids, lambda: Registry(given))
    except RegistryUnreachable as error:
        LOG.warning("%s: the kept schemas were not held against the registry: %s", spec.name, error)


def ask_again(spec: Pipeline, settings: Settings, root: UPath) -> None:
    """Ask once more for the ids that the registry lacked, and for ids of quarantined records for
    which no run asked: a replay brings in records whose schema was registered after them. What the
    registry does not answer stays missing, with a warning.
    """
    for format_ in (each for topic in spec.inputs for each in _own(topic).values()):
        kept = Kept(settings.root, format_.registry)
        known = kept.schemas()
        missing = [each for each, schema in known.items() if isinstance(schema, str)]
        missing += _unasked(root, spec.name, known) if kept.has_others() else []
        try:
            kept.fetch(missing, lambda: Registry(settings.kafka_config.registry()))
        except (RegistryUnreachable, RegistryRefused) as error:
            LOG.warning("%s: %s", spec.name, error)


def _unasked(root: UPath, pipeline: str, known: Container[str]) -> list[str]:
    counted = ops_tables.stream(
        root,
        "quarantine",
        "SELECT reason, count(*) AS records FROM quarantine "
        f"WHERE pipeline = '{pipeline}' AND reason LIKE '%{not_kept('%')}' "
        "GROUP BY reason ORDER BY records DESC",
    )
    found = (_UNASKED.search(row["reason"]) for part in counted for row in part.to_pylist())
    ids = dict.fromkeys(each[1] for each in found if each and each[1] not in known)
    return [*islice(ids, MOST_IDS)]


def _ids(records: DataFrame, part: str, *, in_header: bool) -> list[Found]:
    from pyspark.sql import functions as F  # noqa: PLC0415 - commands without Spark import the room

    place = F.struct("kafka.partition", "kafka.offset").alias("place")
    raw = F.col(f"kafka.raw.{part}")
    head = F.substring(raw, 1, HEAD)
    # All that are no ids go before the limit, as schema_id has it: a number has no highest bit.
    signed = F.substring("head", 2, 1) >= F.lit(b"\x80")
    number = (F.length("head") == HEAD) & (F.substring("head", 1, 1) == F.lit(b"\0")) & ~signed
    guid = (F.length("head") == GUID) & (F.substring("head", 1, 1) == F.lit(b"\1"))
    if in_header:
        named = F.filter("kafka.raw.headers", lambda each: each["key"] == header_of(part))
        header = F.try_element_at(named, F.lit(-1))["value"]
        of_guid = F.substring(header, 1, 1) == F.lit(b"\1")
        told = F.when(of_guid, F.substring(header, 1, GUID)).otherwise(F.substring(header, 1, HEAD))
        head = F.when(raw.isNotNull(), F.coalesce(told, head))
    rows = (
        records.select(head.alias("head"), place)
        .where(number | guid)
        .groupBy("head")
        .agg(F.count("*").alias("records"), F.min("place").alias("first"))
        .orderBy(F.desc("records"), "head")
        .limit(MOST_IDS + 1)
        .collect()
    )
    return [
        Found(found, row.records, row.first.partition, row.first.offset)
        for row in rows
        if (found := schema_id(bytes(row["head"])))
    ]
