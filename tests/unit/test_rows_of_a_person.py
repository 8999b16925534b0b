"""What a person writes into a table that follows a key: the next change of the key is written over
it, or the run ends with the key's name.
"""

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from upath import UPath

from spark_jobs.audit.keyed_account import changed_contents, keyed
from spark_jobs.errors import TableChanged
from spark_jobs.messages.offset_account import Account
from spark_jobs.steps.keyed.fates import Fates
from spark_jobs.values.own_columns import DELETED
from tests.harness.refused import fails
from tests.unit import test_versions as history
from tests.unit.test_latest import COLUMNS, STEP, Change, merge, rows, table_at


@pytest.fixture
def orders(tmp_path):
    path = table_at(tmp_path / "orders")
    merge(path, [Change("a", 3, "x", "placed", 0), Change("b", 3, "x", "placed", 1)], 0)
    return path


def add(path, **row):
    table = pa.Table.from_pylist([row], COLUMNS)
    write_deltalake(str(path), table, mode="append", partition_by=[DELETED])


def balanced(path, done):
    found = keyed(path, done, STEP)
    return (found.written, found.gained) == (done.fates.written, done.fates.gained)


def test_a_key_of_which_somebody_added_a_row_is_named(orders):
    add(orders, **rows(orders)["b"])
    merge(orders, [Change("a", 4, "x", "paid", 5)], 1)
    with fails(TableChanged, "key_broken", key="id = b"):
        merge(orders, [Change("a", 5, "x", "paid", 6), Change("b", 5, "x", "paid", 7)], 2)
    assert rows(orders)["a"]["status"] == "paid"


@pytest.mark.parametrize("column", ["lsn", "seq", "_sluice_offset", "_sluice_deleted"])
def test_what_somebody_left_without_a_place_is_older_than_any_change(orders, column):
    DeltaTable(str(orders)).update({column: "NULL"}, predicate="id = 'a'")
    older = Change("a", 3, "x", "paid", 9)
    done = merge(orders, [older], 1)
    assert done.fates == Fates(updated=1)
    assert balanced(orders, done)
    assert rows(orders)["a"]["status"] == "paid"


def test_a_row_that_somebody_added_by_its_own_columns_alone_is_one_of_its_key(orders):
    add(orders, id="c", lsn=3, seq="x", status="by hand")
    done = merge(orders, [Change("c", 2, "x", "older", 9)], 1)
    assert done.fates == Fates(superseded=1, behind=1)
    done = merge(orders, [Change("c", 3, "x", "paid", 9)], 2)
    assert done.fates == Fates(updated=1)
    assert balanced(orders, done)
    assert rows(orders)["c"][DELETED] is False


@pytest.fixture
def chain(tmp_path):
    """A version of a history's key."""
    path = history.delta_table(tmp_path / "orders")
    history.put(path, history.rows([(0, history.FIRST)]), 0)
    return path


def test_a_version_that_somebody_wrote_twice_is_named(chain):
    there = DeltaTable(str(chain)).to_pyarrow_table()
    write_deltalake(str(chain), there, mode="append", partition_by=[DELETED, "current"])
    with fails(TableChanged, "key_broken", key="id = a, shop = 0"):
        history.put(chain, history.rows([(1, history.SECOND)]), 1)


@pytest.mark.parametrize("column", ["lsn", "_sluice_offset", "_sluice_deleted"])
def test_a_version_that_somebody_left_without_a_place_is_named(chain, column):
    DeltaTable(str(chain)).update({column: "NULL"}, predicate="id = 'a'")
    with fails(TableChanged, "key_broken", key="id = a, shop = 0"):
        history.put(chain, history.rows([(1, history.SECOND)]), 1)


def test_a_copy_that_was_written_with_other_contents_is_unaccounted(orders):
    DeltaTable(str(orders)).update({"status": "'mended'"}, predicate="id = 'a'")
    done = merge(orders, [Change("a", 3, "x", "placed", 9)], 1)
    found, account = keyed(orders, done, STEP), Account(covered=1, read=1, accepted=1)
    assert (done.fates.moved, found.changed) == (1, 0)
    assert found.told(account).unaccounted == 0
    DeltaTable(str(orders)).update({"status": "'placed'", "weight": "7"}, predicate="id = 'a'")
    version = DeltaTable(str(orders)).version()
    undone = found._replace(changed=changed_contents(orders, version, STEP.row_key, STEP.spans))
    assert undone.changed == 1
    assert undone.told(account).unaccounted == 1


def test_contents_are_compared_as_values_whatever_their_type(tmp_path):
    nan, pairs = float("nan"), pa.map_(pa.string(), pa.int64())
    columns = {
        "id": pa.string(),
        "d": pa.float64(),
        "m": pairs,
        "b": pa.binary(),
        DELETED: pa.bool_(),
    }
    rows = {
        "id": ["a", "b", "c"],
        "d": [nan, 1.0, None],
        "m": [[("x", 1)], None, []],
        "b": [b"", b"y", None],
    }
    table = pa.table({**rows, DELETED: [False] * 3}, pa.schema([*columns.items()]))
    path = UPath(tmp_path / "rows")
    write_deltalake(str(path), table, configuration={"delta.enableChangeDataFeed": "true"})

    def changed(**values):
        DeltaTable(str(path)).update(values)
        return changed_contents(path, DeltaTable(str(path)).version(), ("id",), ())

    assert changed(id="id") == 0
    assert changed(d="1.0") == 2
    assert changed(b="NULL") == 2
    assert changed(m="NULL") == 2
