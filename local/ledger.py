"""The ledger of what was sent: the independent truth that tests and the demo hold the pipeline's
results against.

The producer writes it, never Spark: one Parquet file a delivery, one row a record, with the place
in Kafka that the broker confirmed and the fields as the payload says them.
"""

from collections.abc import Sequence
from dataclasses import fields
from operator import itemgetter
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from local.deliveries import Delivered
from local.flights import FlightEvent
from spark_jobs.storage.root.files import replacing

TIME = pa.timestamp("us", tz="UTC")
FIELDS: list[tuple[str, pa.DataType]] = [
    ("delivery", pa.int32()),
    ("topic", pa.string()),
    ("partition", pa.int32()),
    ("offset", pa.int64()),
    ("kafka_timestamp", TIME),
    ("kind", pa.string()),
    ("reason", pa.string()),
    ("delayed", pa.bool_()),
    # The payload's fields, all null for a malformed record.
    ("event_id", pa.string()),
    ("event_type", pa.string()),
    ("event_time", TIME),
    ("scheduled_time", TIME),
    ("carrier", pa.string()),
    ("flight", pa.int32()),
    ("tail_number", pa.string()),
    ("origin", pa.string()),
    ("destination", pa.string()),
    ("delay_minutes", pa.int32()),
    ("cancelled", pa.bool_()),
    ("distance_miles", pa.int32()),
    # The raw bytes of a malformed record; null for the others, and for a tombstone.
    ("value", pa.binary()),
]
SCHEMA = pa.schema(FIELDS)
PAYLOAD = [field.name for field in fields(FlightEvent)]
KINDS = ("good", "duplicate", "malformed", "premature")


class LedgerError(Exception):
    """The ledger cannot be read or written; the message says what to do."""


def delivery_file(folder: Path, delivery: int) -> Path:
    """The file of one delivery, whether it is there or not."""
    return folder / f"delivery-{delivery:05d}.parquet"


def write(
    folder: Path,
    delivery: int,
    topic: str,
    records: Sequence[Delivered],
    places: Sequence[tuple[int, int]],
) -> Path:
    """Write a delivery's file, whole or not at all; `places` are the (partition, offset) of
    `records`, in their order.

    Raises LedgerError when the delivery is already there: it was sent, and what was sent does not
    change.
    """
    file = delivery_file(folder, delivery)
    if file.exists():
        message = (
            f"delivery {delivery} of {topic} is in the ledger already; send another, or "
            "remove topic and ledger"
        )
        raise LedgerError(message)
    events = [record.event for record in records]
    columns = {
        "delivery": [delivery] * len(records),
        "topic": [topic] * len(records),
        "partition": [partition for partition, _ in places],
        "offset": [offset for _, offset in places],
        "value": [record.value if record.event is None else None for record in records],
    }
    columns |= {
        name: [getattr(record, name) for record in records]
        for name in ("kafka_timestamp", "kind", "reason", "delayed")
    }
    columns |= {
        name: [None if event is None else getattr(event, name) for event in events]
        for name in PAYLOAD
    }
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(file) as unfinished:
        parquet.write_table(pa.table(columns, schema=SCHEMA), unfinished, compression="zstd")
    return file


def read(folder: Path) -> pa.Table:
    """All deliveries, in the order in which they were sent.

    Raises LedgerError when there is none.
    """
    files = sorted(folder.glob("delivery-*.parquet"))
    if not files:
        message = f"no deliveries in {folder}; publish one first"
        raise LedgerError(message)
    return pa.concat_tables([parquet.read_table(file, schema=SCHEMA) for file in files])


def counts(folder: Path) -> dict[int, dict[str, int]]:
    """Records by delivery and kind; each delivery has every kind, 0 where there is none of it."""
    table = read(folder).group_by(["delivery", "kind"]).aggregate([("offset", "count")])
    rows = sorted(table.to_pylist(), key=itemgetter("delivery"))
    result: dict[int, dict[str, int]] = {row["delivery"]: dict.fromkeys(KINDS, 0) for row in rows}
    for row in rows:
        result[row["delivery"]][row["kind"]] = row["offset_count"]
    return result
