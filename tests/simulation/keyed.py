"""Keyed: a pipeline whose table follows a key. Its batches are merged by the product's own code;
what Spark does before that, to decode records and to take the newest of each key, is stood in for.
"""

from datetime import UTC, datetime

import pyarrow as pa
from pyspark.sql.types import StructType
from upath import UPath

from spark_jobs.audit.keyed_account import keyed
from spark_jobs.audit.written import written
from spark_jobs.sink.keyed.follow import merge_here
from spark_jobs.spec import Field, Latest, Topic
from spark_jobs.storage.lease_view import Held
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table.delta.table import Delta
from spark_jobs.table.entry import Commit, Note
from spark_jobs.values.own_columns import CONTENTS, DELETED, DELETED_AT, OFFSET, PARTITION
from tests.simulation.model import SHOPS, Begins, Change, Key, Model, change
from tests.simulation.rows import row_of
from tests.unit.specs import pipeline

STEP = Latest(keys=("shop",), order_by=("place",), deletes="sales = 0")
FIELDS = (  # as the other tables', whose names no field may have
    ("windowEnd", "timestamp"),
    ("shop", "string"),
    ("sales", "bigint"),
    ("place", "bigint"),
)
SPEC = pipeline(
    topic=Topic(
        name="sales",
        event_time="at",
        fields=(
            Field(name="at", type="timestamp"),
            *(Field(name=n, type=t) for n, t in FIELDS[1:]),
        ),
    ),
    watermark_delay=None,
    steps=(STEP,),
)
_OWN = (
    (DELETED_AT, "timestamp", pa.timestamp("us", "UTC")),
    (PARTITION, "integer", pa.int32()),
    (OFFSET, "long", pa.int64()),
    (CONTENTS, "long", pa.int64()),
    (DELETED, "boolean", pa.bool_()),
)
_KINDS = {"timestamp": pa.timestamp("us", "UTC"), "string": pa.string(), "bigint": pa.int64()}
COLUMNS = StructType.fromJson(
    {
        "type": "struct",
        "fields": [
            {"name": name, "type": kind, "nullable": True, "metadata": {}}
            for name, kind in (
                *((name, kind.replace("bigint", "long")) for name, kind in FIELDS),
                *((name, kind) for name, kind, _ in _OWN),
            )
        ],
    }
)
_CHANGES = pa.schema(
    [*((name, _KINDS[kind]) for name, kind in FIELDS), *((name, kind) for name, _, kind in _OWN)]
)


def merge(
    of: Begins | None, model: Model, batch: tuple[int, Note], paths: Paths, held: Held
) -> None:
    """Give the table what the record brings; None for a batch that reads none."""
    number, note = batch
    changes = [change(of, shop, model.sales) for shop in SHOPS] if of else []
    rows = pa.Table.from_pylist([_row(each) for each in changes], _CHANGES)
    table, owner = paths.table, str(note["sluice"])
    merge_here(rows, STEP, Commit(str(table), owner, number, note, table, 1, held.confirm))  # type: ignore[arg-type]  # nobody gives it to Spark


def account_holds(table: UPath, owner: str, batch: int) -> None:
    """What the merge says of the batch's changes, and what Delta's log says of its commit."""
    done = written(Delta(table), [owner], batch).get(batch)
    found = keyed(table, done, STEP)
    assert found.fates.written == found.written, (batch, found)
    assert found.gained in {None, found.fates.gained}, (batch, found)
    assert (found.changed or 0) <= found.fates.updated, (batch, found)


def _row(of: Change) -> dict[str, object]:
    offset, shop = of.key
    made = row_of(Key(offset, shop), of.sales or 0)
    return {name: made[name] for name in ("windowEnd", "shop", "sales")} | {
        "place": of.place[0],
        DELETED_AT: None if of.sales else datetime.now(UTC),  # so nobody forgets it
        PARTITION: 0,
        OFFSET: of.place[1],
        CONTENTS: of.said,
        DELETED: not of.sales,
    }
