"""Reasons: why records are malformed that the JVM's decoder has refused, by Python's."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.decode.formats import Records
from spark_jobs.decode.prepared import prepare

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spark_jobs.spec import Topic
    from spark_jobs.spec.inputs import Topics

LOG = logging.getLogger(__name__)
DIFFER = "the JVM's decoder refuses the record at partition %s offset %d, and Python's takes it"


class Refused(NamedTuple):
    """A record."""

    partition: int
    offset: int
    value: bytes | None


def reasons(records: Sequence[Refused], inputs: Topics) -> list[str] | None:
    """Of each record why it is malformed. None where Python's decoder takes one: a fault of Sluice,
    which the account shows when Python reads the batch again.
    """
    found = dict[int, str]()
    for each in inputs:
        of_it = [n for n, one in enumerate(records) if inputs.of_partition(one.partition) is each]
        for n, why in zip(of_it, _reasons([records[n] for n in of_it], each), strict=True):
            if why is None:
                LOG.error(DIFFER, inputs.shown(records[n].partition), records[n].offset)
                return None
            found[n] = why
    return [found[n] for n in range(len(records))]


def _reasons(records: Sequence[Refused], topic: Topic) -> list[str | None]:
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
