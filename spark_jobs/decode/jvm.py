"""The JVM's decoder as a column of Spark."""

from __future__ import annotations

import json
import logging
import re
from base64 import b64decode
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from py4j.java_gateway import JavaClass  # type: ignore[import-untyped]
from pyspark.sql import Column, DataFrame

from spark_jobs.decode.formats import Records
from spark_jobs.decode.json.unnamed import Task, UnnamedKeys
from spark_jobs.decode.raw_filter import OVERHEAD
from spark_jobs.decode.record_decoder import prepare
from spark_jobs.decode.slices import Slice, Times
from spark_jobs.values.own_columns import KAFKA, own
from spark_jobs.values.type_tree import Decimal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from spark_jobs.decode.raw_filter import CapturePolicy
    from spark_jobs.decode.record_decoder import Prepared
    from spark_jobs.decode.slice_notes import SliceNotes
    from spark_jobs.spec import Topic
    from spark_jobs.spec.inputs import Topics

    Described = dict[str, Any]

US: Final = timedelta(microseconds=1)


def described(prepared: Prepared, capture: CapturePolicy | None) -> Described:
    """Of a topic for which choice.why_python is empty."""
    topic = prepared.topic
    names = [field.name for field in topic.fields]
    found: Described = {
        "root": tree(topic),
        "columns": [names.index(name) for name in prepared.wanted],
        "required": [field.required for field in topic.fields],
        "drops": topic.tombstones == "dropped",
        "event_time": names.index(topic.event_time),
    }
    if capture:
        found["capture"] = {
            "bytes": capture.task_bytes,
            "overhead": OVERHEAD,
            "ahead_us": topic.max_ahead // US,
            "clock_us": capture.clock_ms * 1000,
            "late_us": capture.late_before_ms * 1000,
        }
    return found


def tree(topic: Topic) -> Described:
    """The objects, arrays and values of a record, as sluice.decode.Node reads them.

    What is required is refused where it is null, as msgspec does (decode/json/decoder.py, _sure).
    """
    root: Described = {}
    for number, field in enumerate(topic.fields):
        [path] = field.paths
        in_array = isinstance(path[-1], int)
        # msgspec reads a number of a decimal as it is written, and a text as a text.
        raw = isinstance(field.tree, Decimal) and field.format is None
        sure = field.required and not in_array and not raw
        at = root
        for step in path:
            kind = "places" if isinstance(step, int) else "keys"
            at = at.setdefault(kind, {}).setdefault(str(step), {"required": False})
            at["required"] |= sure
        digits = field.tree._asdict() if isinstance(field.tree, Decimal) else {}
        at["leaf"] = {"column": number, "kind": field.kind, "format": field.format or "", **digits}
    return root


class TaskNotes(NamedTuple):
    """Of one topic."""

    noted: Any
    """sluice.decode.Notes, of which Python has no type."""
    topic: Topic

    def slices(self) -> list[Slice]:
        """Those that came since the last call."""
        return [_slice(*map(int, line.split())) for line in self.noted.slices().splitlines()]

    def keys(self) -> Task:
        """Keys that no field names, in the records that tasks have looked at."""
        found = UnnamedKeys(self.topic)
        looked_at, *lines = self.noted.samples().splitlines()
        for line in lines:
            partition, offset, value = line.split()
            found.look_at(b64decode(value), int(partition), int(offset))
        return int(looked_at), found.task[1]


def _slice(*numbers: int) -> Slice:
    partition, first, last, records, low, high, soon, far, late, old, new = numbers
    times, ahead, late_times = Times(low, high), Times(soon, far), Times(old, new)
    return Slice(partition, first, last, records, times, ahead, late, late_times)


FORM: Final = 2
"""What sluice.decode.Decoder must say of itself. Raise both numbers where the description changes,
or what a record becomes.
"""
UNSURE: Final = re.compile(r"SLUICE_UNSURE: the record at partition (\d+) offset (\d+)")
"""Its error for a record of which only Python knows whether it is malformed."""
PENDING: Final = "?"
"""The reason that it gives: Python says it for the few records that are kept."""
DECODED: Final = own("decoded")


def is_there(spark: SparkSession) -> bool:
    """Whether its jar is on the class path, and not that of another Sluice."""
    ours = _jvm(spark).sluice.decode.Decoder
    # What is no class is taken for the name of a package.
    return isinstance(ours, JavaClass) and ours.FORM == FORM


def decoded(
    records: DataFrame,
    prepared: Prepared,
    capture: CapturePolicy | None,
    notes: SliceNotes | None,
    schema: StructType,
) -> DataFrame:
    """As decode/decoder.py has it, with PENDING in place of each reason."""
    java = _jvm(records.sparkSession)
    noted = None
    if notes:
        noted = java.sluice.decode.Notes(
            records.sparkSession.sparkContext._jsc.sc(),  # noqa: SLF001 - as below
            notes.policy.offsets,
            prepared.topic.max_ahead // US,
            notes.policy.clock_ms * 1000,
            -(2**63) if notes.policy.late_ms is None else notes.policy.late_ms * 1000,
            notes.keys is not None,
        )
        notes.in_jvm.append(TaskNotes(noted, prepared.topic))
    of = json.dumps(described(prepared, capture))
    column = Column(java.sluice.decode.Decoder.column(KAFKA, of, schema.json(), noted))
    return records.select(column.alias(DECODED)).select(f"{DECODED}.*")


def _jvm(spark: SparkSession) -> Any:
    return spark.sparkContext._jvm  # noqa: SLF001 - no Python form


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
