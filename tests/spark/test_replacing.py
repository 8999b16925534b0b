"""A large Latest, which Spark replaces in: kills between its files and its commit, and writers that
come first. Nothing is lost, counted twice or told twice.
"""

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake

from spark_jobs.errors import TableContended
from spark_jobs.sink.keyed import driver
from spark_jobs.steps.keyed.fates import Fates
from spark_jobs.storage import failpoint
from spark_jobs.table.delta.commit import ATTEMPTS, in_words
from spark_jobs.table.delta.door import change_feed
from spark_jobs.values.own_columns import CONTENTS, DELETED, OFFSET
from tests.harness.crash import over
from tests.harness.refused import fails
from tests.harness.turns import held_by
from tests.spark.test_keyed_parts import replaced
from tests.spark.test_latest import shop_of, twice_drained
from tests.unit.test_latest import COLUMNS, Change, merge, rows, table_at

pytestmark = held_by("spark/test_latest.py")

PLACES = ("planned", *failpoint.REPLACING_POINTS, "table.committed", "audit", "audited")


@pytest.fixture(scope="module")
def twice(kafka, as_submitted, tmp_path_factory):
    """Spark has put two deliveries; what a kill at each place of the second leaves."""
    folder = tmp_path_factory.mktemp("twice")
    shop = shop_of(kafka, folder, seed=23)
    with pytest.MonkeyPatch.context() as by_spark:
        by_spark.setattr(driver, "MOST_BYTES", 0)
        images = twice_drained(shop, folder, 300)
    assert_told(shop.made.paths.table, "order_id")
    return shop, images


def told(path, key):
    """The table as its change feed tells it, one version after the other: a row comes where none
    is, and goes where it is.
    """
    found: dict[object, dict] = {}
    for version in range(1, DeltaTable(str(path)).version() + 1):
        feed = pa.table(change_feed(path, version - 1, version)).to_pylist()
        for going in (True, False):
            for row in feed:
                kind, of = row["_change_type"], row[key]
                content = {name: row[name] for name in row if not name.startswith("_c")}
                if (kind in {"update_preimage", "delete"}) is going:
                    assert found.pop(of, None) == (content if going else None), (version, kind, of)
                    if not going:
                        found[of] = content
    return found


def assert_told(path, key):
    assert told(path, key) == {
        row[key]: row for row in DeltaTable(str(path)).to_pyarrow_table().to_pylist()
    }


def unlisted(path):
    """The files of rows that no version has."""
    listed = {uri.rpartition("/")[2] for uri in DeltaTable(str(path)).file_uris()}
    every = {each.name for each in path.rglob("*.parquet") if "_delta_log" not in each.parts}
    return every - listed


@pytest.mark.parametrize("place", PLACES)
def test_a_batch_that_is_killed_at_any_step_is_put_once(twice, monkeypatch, place):
    monkeypatch.setattr(driver, "MOST_BYTES", 0)
    shop, images = twice
    killed = shop._replace(made=over(shop.made, images[place], shop.made.spec))
    path = killed.made.paths.table
    before = unlisted(path)
    killed.made.run(f"behind {place}")
    killed.assert_exact()
    assert_told(path, "order_id")
    assert before <= unlisted(path), "files of a try that was killed are in no version"


def once_at(monkeypatch, place, act, times=1):
    """At this place another writer does this, so many times."""
    left = [times]

    def at(passed):
        if passed == place and left[0]:
            left[0] -= 1
            act()

    monkeypatch.setattr(failpoint, "at", at)
    return left


@pytest.fixture
def orders(tmp_path):
    """Two rows, and a delete that is remembered, in three files."""
    path = table_at(tmp_path / "orders")
    for number, change in enumerate([
        Change("a", 5, "x", "placed", 0), Change("b", 5, "x", "placed", 1), Change("z", 5, "x", None, 2)
    ]):  # fmt: skip
        merge(path, [change], number)
    return path


def optimize(path):
    assert DeltaTable(str(path)).optimize.compact()["numFilesRemoved"]


def swap(path):
    """As a repair: in one commit rows go, and others come."""
    table = DeltaTable(str(path)).to_pyarrow_table()
    found = [{**row, "status": "repaired"} for row in table.to_pylist()]
    said = CommitProperties(custom_metadata={"who": "repair"})
    write_deltalake(
        str(path), pa.Table.from_pylist(found, COLUMNS), mode="overwrite", commit_properties=said
    )


BATCH = [
    Change("a", 6, "x", "paid", 10), Change("z", 4, "x", "late", 11),
    Change("new", 1, "x", "placed", 12),
]  # fmt: skip
ITS_FATES = Fates(inserted=1, updated=1, superseded=1, behind=1)


@pytest.mark.parametrize("place", failpoint.REPLACING_POINTS)
@pytest.mark.parametrize("other", [optimize, swap])
def test_a_writer_that_comes_first_is_seen_and_the_batch_is_put_again(
    spark, orders, monkeypatch, other, place
):
    left = once_at(monkeypatch, place, lambda: other(orders))
    done = replaced(spark, orders, BATCH, 3)
    assert left == [0]
    assert done.fates == ITS_FATES
    kept = {row: each["status"] for row, each in rows(orders).items()}
    stays = "repaired" if other is swap else "placed"
    of_z = "repaired" if other is swap else None
    assert kept == {"a": "paid", "b": stays, "z": of_z, "new": "placed"}


@pytest.mark.parametrize("place", failpoint.REPLACING_POINTS)
def test_a_row_that_goes_while_its_change_is_found_to_be_older_is_put_anew(
    spark, orders, monkeypatch, place
):
    """A batch that would have written no row."""
    left = once_at(monkeypatch, place, lambda: DeltaTable(str(orders)).delete("id = 'a'"))
    done = replaced(spark, orders, [Change("a", 4, "x", "older", 10)], 3)
    assert left == [0]
    assert done.fates == Fates(inserted=1)
    assert rows(orders)["a"]["status"] == "older"


def test_a_row_that_another_adds_meanwhile_is_replaced_and_not_doubled(spark, orders, monkeypatch):
    row = Change("new", 1, "x", "mine", 9).row()
    another = pa.Table.from_pylist([row], COLUMNS)
    once_at(
        monkeypatch, "replacing.written",
        lambda: write_deltalake(str(orders), another, mode="append"),
    )  # fmt: skip
    done = replaced(spark, orders, [Change("new", 2, "x", "paid", 10)], 3)
    assert done.fates == Fates(updated=1)
    assert DeltaTable(str(orders)).to_pyarrow_table()["id"].to_pylist().count("new") == 1


def test_writers_that_never_leave_it_alone_are_named_and_nothing_is_written(
    spark, orders, monkeypatch
):
    once_at(monkeypatch, "replacing.written", lambda: swap(orders), times=ATTEMPTS)
    with fails(TableContended, "written_meanwhile"), in_words(str(orders)):
        replaced(spark, orders, [Change("a", 6, "x", "paid", 10)], 3)
    assert {row["status"] for row in rows(orders).values()} == {"repaired"}


def test_a_batch_of_deletes_alone_is_remembered(spark, orders):
    done = replaced(spark, orders, [Change("a", 6, "x", None, 10), Change("q", 1, "x", None, 11), Change("z", 6, "x", None, 12)], 3)  # fmt: skip
    assert done.fates == Fates(deleted=1, absent=2)
    assert {key for key, row in rows(orders).items() if not row[DELETED]} == {"b"}
    assert_told(orders, "id")


def test_rows_that_another_hid_by_deletion_vectors_stay_hidden(spark, tmp_path):
    path = table_at(tmp_path / "orders")
    first = [Change(each, 5, "x", "placed", number) for number, each in enumerate("abcdef")]
    merge(path, first, 0)
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES (delta.enableDeletionVectors = true)")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id IN ('a', 'b')")
    batch = [Change("a", 1, "x", "again", 10), Change("c", 6, "x", "paid", 11), Change("d", 4, "x", "late", 12)]  # fmt: skip
    done = replaced(spark, path, batch, 1)
    assert done.fates == Fates(inserted=1, updated=1, superseded=1, behind=1)
    found = {row.id: row.status for row in spark.read.format("delta").load(str(path)).collect()}
    assert found == {"a": "again", "c": "paid", **dict.fromkeys("def", "placed")}


def test_files_without_statistics_and_rows_without_a_key_stay(spark, tmp_path):
    path = table_at(tmp_path / "orders")
    spark.sql(
        f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES (delta.dataSkippingNumIndexedCols = 0)"
    )
    mine = {**Change("a", 5, "x", "placed").row(), "id": None, CONTENTS: None, OFFSET: None}
    given = [Change("a", 5, "x", "placed").row(), Change("b", 5, "x", "placed", 1).row(), mine]
    schema = pa.schema([field.with_nullable(True) for field in COLUMNS])
    with_null = spark.createDataFrame(pa.Table.from_pylist(given, schema))
    with_null.write.format("delta").mode("append").save(str(path))
    done = replaced(spark, path, [Change("b", 6, "x", "paid", 11)], 1)
    assert done.fates == Fates(updated=1)
    found = DeltaTable(str(path)).to_pyarrow_table().to_pylist()
    assert {row["id"]: row["status"] for row in found} == {None: "placed", "a": "placed", "b": "paid"}  # fmt: skip
