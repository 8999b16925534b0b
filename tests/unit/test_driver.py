"""Which tables the driver merges, and how many rows a table with deletion vectors or mapped columns
has by its log.
"""

import json
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from deltalake import DeltaTable

from spark_jobs.admin.care import forgotten_steps
from spark_jobs.audit.keyed_account import gained
from spark_jobs.sink.keyed import driver
from spark_jobs.sink.keyed.driver import takes_table
from spark_jobs.spec import Layout
from spark_jobs.table.delta.delta_log import Log
from spark_jobs.table.delta.opened import size
from spark_jobs.table.delta.table import Delta
from spark_jobs.values.own_columns import DELETED
from tests.unit.test_latest import Change, merge, table_at


@pytest.fixture
def orders(tmp_path):
    """Two rows and a delete."""
    path = table_at(tmp_path / "orders")
    merge(path, [Change("a", 1, "x", "placed"), Change("b", 1, "x", "paid", 1), Change("c", 1, "x", None, 2)], 0)  # fmt: skip
    return path


def commit(path, *actions):
    """As another writer does."""
    log = Log.of(path)
    assert log.put(log.newest + 1, [{"commitInfo": {"operation": "OTHER"}}, *actions])


def enabled(path, feature, *, reads=True):
    """As ALTER TABLE leaves the protocol."""
    protocol = {"minReaderVersion": 3 if reads else 1, "minWriterVersion": 7}
    protocol["writerFeatures"] = ["changeDataFeed", "appendOnly", "invariants", feature]
    if reads:
        protocol["readerFeatures"] = [feature]
    commit(path, {"protocol": protocol})


def taken(path):
    return takes_table(Delta(path).open())


@pytest.mark.parametrize(
    ("feature", "reads"),
    [
        ("deletionVectors", True),
        ("typeWidening", True),
        ("v2Checkpoint", True),
        ("rowTracking", False),
        ("domainMetadata", False),
        ("clustering", False),
    ],
)
def test_a_feature_that_delta_rs_lacks_leaves_the_table_to_spark(orders, feature, reads):
    assert taken(orders)
    enabled(orders, feature, reads=reads)
    assert not taken(orders)
    later = datetime(1971, 1, 1, tzinfo=UTC)
    assert [*forgotten_steps(SimpleNamespace(table=orders, kept_by=Layout.kept_by), later)] == [], (
        "hidden rows would come back"
    )
    assert size(DeltaTable(str(orders)), orders)[:2] == (2, 1)


@pytest.mark.parametrize(("bound", "most"), [("MOST_ROWS", 2), ("MOST_BYTES", 100)])
def test_a_table_of_many_rows_or_bytes_is_left_to_spark(orders, monkeypatch, bound, most):
    monkeypatch.setattr(driver, bound, most)
    assert not taken(orders)


def test_rows_that_a_deletion_vector_hides_are_not_there(orders):
    enabled(orders, "deletionVectors")
    log = Log.of(orders)
    [file] = [each for each in log.replay(log.newest).added.values() if each["partitionValues"][DELETED] == "false"]  # fmt: skip
    vector = {"storageType": "u", "pathOrInlineDv": "vBn[lx{q8@P<9BNH/isA", "offset": 1, "sizeInBytes": 36, "cardinality": 1}  # fmt: skip
    commit(orders, {"remove": {"path": file["path"], "dataChange": True}}, {"add": file | {"deletionVector": vector}})  # fmt: skip
    version = DeltaTable(str(orders)).version()
    assert size(DeltaTable(str(orders)), orders)[:2] == (1, 1)
    assert gained(orders, version) == -1
    assert gained(orders, version - 1) == 0


def test_deletes_are_known_by_the_name_that_a_mapped_column_has_in_the_log(orders):
    log = Log.of(orders)
    found = log.replay(log.newest)
    schema = json.loads(found.metadata["schemaString"])
    for number, field in enumerate(schema["fields"]):
        field["metadata"] = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{field['name']}"}  # fmt: skip
    metadata = found.metadata | {"schemaString": json.dumps(schema)}
    metadata["configuration"] = metadata["configuration"] | {"delta.columnMapping.mode": "name"}
    files = [
        each | {"partitionValues": {f"col-{DELETED}": each["partitionValues"][DELETED]}}
        for each in found.added.values()
    ]
    removed = [{"remove": {"path": each["path"], "dataChange": True}} for each in files]
    enabled(orders, "columnMapping")
    commit(orders, {"metaData": metadata}, *removed)
    commit(orders, *({"add": each} for each in files))
    assert size(DeltaTable(str(orders)), orders)[:2] == (2, 1)
    assert not taken(orders)
