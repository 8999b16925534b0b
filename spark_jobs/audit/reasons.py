"""Reasons: why records are malformed that the JVM's decoder has refused, by Python's."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from spark_jobs.decode.formats import Records
from spark_jobs.decode.jvm.decoder import PENDING
from spark_jobs.decode.prepared import prepare

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spark_jobs.audit.rejected_record import RejectedRecord
    from spark_jobs.spec import Topic

LOG = logging.getLogger(__name__)
DIFFER = "the JVM's decoder refuses the record at %s offset %d, and Python's takes it"


def with_reasons(records: Sequence[RejectedRecord], topic: Topic) -> list[RejectedRecord] | None:
    """The same records, with words in place of PENDING. None where Python's decoder takes one: a
    fault of Sluice, which the account shows when Python reads the batch again.
    """
    told = dict(enumerate(records))
    for each in topic.each:
        of_it = {
            number: record
            for number, record in told.items()
            if record.malformed == PENDING and topic.of_partition(record.partition) is each
        }
        for number, why in zip(of_it, _reasons([*of_it.values()], each), strict=True):
            record = of_it[number]
            if why is None:
                LOG.error(DIFFER, topic.shown(record.partition), record.offset)
                return None
            told[number] = record._replace(malformed=why)
    return [*told.values()]


def _reasons(records: Sequence[RejectedRecord], topic: Topic) -> list[str | None]:
    if not records:
        return []
    import pyarrow as pa  # noqa: PLC0415 - most runs reject nothing

    count = len(records)
    given = Records(
        values=pa.array([record.value for record in records], pa.binary()),
        keys=pa.nulls(count, pa.binary()),
        partition=pa.array([record.partition for record in records], pa.int32()),
        offset=pa.array([record.offset for record in records], pa.int64()),
        timestamp=pa.nulls(count, pa.timestamp("us", "UTC")),
        headers=pa.nulls(count, pa.list_(pa.struct([("key", pa.string())]))),
    )
    return prepare(topic, "", None).decoder().decode(given).reasons
