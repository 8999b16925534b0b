"""How a table's files lie: what a spec may declare, what the table gets, and which files a swap and
maintenance leave alone.
"""

from datetime import UTC, date, datetime, timedelta

import deltalake
import pyarrow as pa
import pytest
from pyspark.sql.types import StructType
from upath import UPath

from spark_jobs.errors import SpecInvalid, TableChanged
from spark_jobs.repair.exchange.commit import overwriting
from spark_jobs.spec import (
    Aggregate,
    Deduplicate,
    Field,
    History,
    Latest,
    Layout,
    Pipeline,
    Topic,
    Transform,
    Tumbling,
)
from spark_jobs.table.delta import compaction
from spark_jobs.table.delta.care_steps import put_in_order
from spark_jobs.table.delta.delta_log import Log, only_rearranges
from spark_jobs.table.delta.log_entries import GENERATION
from spark_jobs.table.delta.table import Delta
from spark_jobs.table.delta.table_layout import order, parts, refuse_other_parts, set_properties
from spark_jobs.table.open_version import Said
from spark_jobs.values.own_columns import DELETED
from spark_jobs.values.spans import Position, Span
from tests.harness.refused import fails, has
from tests.unit.specs import pipeline

FIRST = datetime(2026, 3, 1, tzinfo=UTC)
DAY = timedelta(days=1)
TOPIC = Topic(
    name="sales",
    event_time="at",
    fields=(
        Field(name="id", type="bigint"),
        Field(name="at", type="timestamp"),
        Field(name="day", type="date"),
        Field(name="shop", type="string"),
        Field(name="tags", type="array<string>", required=False),
    ),
)
LATEST = Latest(keys=("id",), order_by=("at",))
COLUMNS = (
    StructType().add("id", "long").add("at", "timestamp").add("day", "date").add("shop", "string")
)


def each_once(**layout) -> Pipeline:
    """Sales, as they are."""
    steps = (Deduplicate(keys=("id",)),)
    return pipeline(name="sales", topic=TOPIC, steps=steps, layout=Layout(**layout))


def newest(**layout) -> Pipeline:
    """The newest of each sale."""
    return pipeline(
        name="sales", topic=TOPIC, watermark_delay=None, steps=(LATEST,), layout=Layout(**layout)
    )


def sales(days: range, shop: str) -> pa.Table:
    """Two a day."""
    times = [FIRST + day * DAY + hour * timedelta(hours=12) for day in days for hour in (0, 1)]
    return pa.table(
        {
            "id": [*range(len(times))],
            "at": pa.array(times, pa.timestamp("us", "UTC")),
            "day": [at.date() for at in times],
            "shop": [shop] * len(times),
        }
    )


@pytest.fixture
def path(tmp_path) -> UPath:
    """A table parted by day, with two files in each of three days."""
    made = UPath(tmp_path / "t")
    Delta(made).ensure(COLUMNS, each_once(partition_by=("day",)), "g1")
    for shop in ("b", "a"):
        deltalake.write_deltalake(str(made), sales(range(3), shop), mode="append")
    return made


def rows(path: UPath) -> list[dict]:
    found = deltalake.DeltaTable(str(path)).to_pyarrow_table().to_pylist()
    return sorted(found, key=lambda row: (row["at"], row["shop"]))


def days(path: UPath, action: str) -> set[str]:
    """Of the files that the newest commit removes or adds."""
    log = Log.of(path)
    files = [each[action] for each in log.commit(log.newest) if action in each]
    return {file["partitionValues"]["day"] for file in files}


@pytest.mark.parametrize(
    ("layout", "field"),
    [
        ({"partition_by": ("dya",)}, "layout.partition_by"),
        ({"partition_by": ("at",)}, "layout.partition_by"),
        ({"partition_by": ("shop",)}, "layout.partition_by"),
        ({"cluster_by": ("dya",)}, "layout.cluster_by"),
        ({"cluster_by": ("tags",)}, "layout.cluster_by"),
        ({"partition_by": ("day",), "cluster_by": ("day",)}, "partition_by and cluster_by"),
        ({"cluster_by": ("_sluice_deleted",)}, "partition_by"),
        ({"partition_by": ("a`b",)}, "partition_by.0"),
        ({"properties": {"delta.enableChangeDataFeed": "false"}}, "properties"),
        ({"properties": {"delta.appendOnly": "true"}}, "properties"),
        ({"properties": {"delta.enableDeletionVectors": "true"}}, "properties"),
        ({"properties": {"delta.feature.clustering": "supported"}}, "properties"),
        ({"properties": {"delta.logRetentionDuration": "interval 3 days"}}, "properties"),
        ({"properties": {"delta.logRetentionDuration": "a month"}}, "properties"),
        ({"properties": {"delta.targetFileSize": "large"}}, "properties"),
        ({"properties": {GENERATION: "g2"}}, "properties"),
        ({"properties": {"team": " "}}, "properties"),
    ],
)
def test_what_a_table_cannot_be_or_what_would_break_its_repairs_is_refused(layout, field):
    with fails(SpecInvalid, "fields_refused", fields=field):
        each_once(**layout)


def test_what_only_spark_knows_of_the_output_is_refused_before_the_table_is_made(tmp_path):
    made = UPath(tmp_path / "t")
    sql = Transform(sql="SELECT *, date(at) AS sold_on FROM rows")
    unknown = Layout(partition_by=("sold_on",), cluster_by=("shop",))
    spec = pipeline(name="sales", topic=TOPIC, steps=(sql,), watermark_delay=None, layout=unknown)
    with fails(SpecInvalid, "fields_refused", problems=has("sold_on")):
        Delta(made).ensure(COLUMNS, spec, "g1")
    with fails(SpecInvalid, "fields_refused", problems=has("sold_on timestamp")):
        Delta(made).ensure(StructType([*COLUMNS]).add("sold_on", "timestamp"), spec, "g1")
    assert not made.exists()


def test_a_table_is_made_with_its_layout_and_sluices_own(path, tmp_path):
    assert deltalake.DeltaTable(str(path)).metadata().partition_columns == ["day"]
    followed = UPath(tmp_path / "followed")
    spec = newest(
        partition_by=("day",), properties={"team": "shops", "delta.targetFileSize": "1mb"}
    )
    Delta(followed).ensure(StructType([*COLUMNS]).add(DELETED, "boolean"), spec, "g1")
    made = deltalake.DeltaTable(str(followed)).metadata()
    assert made.partition_columns == [DELETED, "day"] == parts(spec)
    assert (made.configuration["team"], made.configuration[GENERATION]) == ("shops", "g1")


def test_changed_properties_are_set_once_and_those_left_out_stay(path):
    declared = each_once(partition_by=("day",), properties={"team": "shops"})
    version = Delta(path).version()
    assert Delta(path).ensure(COLUMNS, declared, "g1") == version + 1
    assert Delta(path).ensure(COLUMNS, declared, "g1") == version + 1
    assert Delta(path).ensure(COLUMNS, each_once(partition_by=("day",)), "g1") == version + 1
    assert deltalake.DeltaTable(str(path)).metadata().configuration["team"] == "shops"
    set_properties(path, each_once(properties={"team": "tills"}), None)
    assert deltalake.DeltaTable(str(path)).metadata().configuration["team"] == "tills"


PERSONAL = TOPIC.model_copy(
    update={
        "fields": tuple(
            each.model_copy(update={"personal": each.name in ("shop", "id")})
            for each in TOPIC.fields
        )
    }
)
BY_SHOP = Aggregate(
    window=Tumbling(size="1 day"),
    keys=("day",),
    measures={"sales": "count(*)", "last": "max(shop)", "first": "min(at)"},
    counts="sales",
)


@pytest.mark.parametrize(
    ("steps", "columns", "stated"),
    [
        ((Deduplicate(keys=("id",)),), COLUMNS, "`at`,`day`"),
        ((LATEST,), StructType([*COLUMNS]).add("_sluice_offset", "long"), "`at`,`_sluice_offset`"),
        (
            (BY_SHOP,),
            StructType()
            .add("window_start", "timestamp").add("day", "date")
            .add("last", "string").add("first", "timestamp"),
            "`window_start`,`day`,`first`",
        ),
        ((Transform(sql="SELECT shop AS name, at, kafka FROM rows"),), StructType().add("name", "string"), None),
    ],
    ids=["as they are", "of a key", "computed", "by code that nobody reads"],
)  # fmt: skip
def test_only_columns_that_carry_nothing_of_a_person_have_statistics(
    tmp_path, steps, columns, stated
):
    path = UPath(tmp_path / "people")
    delay = None if LATEST in steps else "1 day"
    layout = (
        Layout(partition_by=("day",)) if "day" in columns.names and LATEST in steps else Layout()
    )
    spec = pipeline(name="sales", topic=PERSONAL, steps=steps, watermark_delay=delay, layout=layout)
    every = columns if LATEST not in steps else StructType([*columns]).add(DELETED, "boolean")
    Delta(path).ensure(every, spec, "g1")
    has = deltalake.DeltaTable(str(path)).metadata().configuration
    assert has.get("delta.dataSkippingStatsColumns") == stated
    assert has.get("delta.dataSkippingNumIndexedCols") == (None if stated else "0")


def test_a_column_that_tells_of_persons_parts_no_table():
    with fails(SpecInvalid, "fields_refused", fields=has("layout.partition_by")):
        pipeline(
            name="sales", topic=PERSONAL, steps=(Deduplicate(keys=("id",)),),
            layout=Layout(partition_by=("id",)),
        )  # fmt: skip


def test_a_table_of_before_and_its_published_log_state_nothing_more_of_persons(path):
    """Rows by delta-rs, as a repair and maintenance write them."""
    spec = pipeline(
        name="sales", topic=PERSONAL, steps=(Deduplicate(keys=("id",)),),
        layout=Layout(partition_by=("day",)),
    )  # fmt: skip
    Delta(path).ensure(COLUMNS, spec, "g1")
    since = Delta(path).version()
    deltalake.write_deltalake(str(path), sales(range(9, 10), "canary"), mode="append")
    written = [str(each) for each in Log.of(path).commit(since + 1)]
    assert "at" in "".join(written)
    assert "canary" not in "".join(written)


def test_other_partitions_than_the_tables_are_refused_whoever_else_parts_it(path, tmp_path):
    refuse_other_parts(path, each_once(partition_by=("day",)))
    refuse_other_parts(UPath(tmp_path / "none"), each_once())
    for spec in (each_once(), each_once(partition_by=("id",))):
        with fails(TableChanged, "parted_otherwise", has="day"):
            refuse_other_parts(path, spec)
    before = UPath(tmp_path / "before")  # an older Sluice's, which parted it by one column less
    columns = StructType([*COLUMNS]).add(DELETED, "boolean").add("current", "boolean")
    Delta(before).ensure(columns, newest(), "g1")
    chained = newest().model_copy(update={"steps": (History(keys=("id",), order_by=("at",)),)})
    refuse_other_parts(before, chained)
    ordered = chained.model_copy(update={"layout": Layout(cluster_by=("current", "shop"))})
    assert order(ordered) == ("shop",)


def test_a_swap_leaves_the_files_of_other_partitions_alone(path):
    held = rows(path)
    (second,) = [Span(FIRST + DAY, FIRST + 2 * DAY)]
    where = Position("at").sql([second])
    swapped = sales(range(1, 2), "c")
    overwriting(swapped, where)(Delta(path).open(), Said({}, "swap"))
    assert days(path, "remove") == days(path, "add") == {"2026-03-02"}
    others = [row for row in held if row["day"] != date(2026, 3, 2)]
    assert rows(path) == sorted(
        others + swapped.to_pylist(), key=lambda row: (row["at"], row["shop"])
    )


def test_maintenance_orders_the_partitions_that_have_small_files_and_changes_no_row(path):
    assert put_in_order(path, ("shop", "id")) == 6
    held = rows(path)
    deltalake.write_deltalake(str(path), sales(range(2, 3), "0"), mode="append")
    assert compaction.small_files(path) == 2
    assert put_in_order(path, ("shop", "id")) == 2
    log = Log.of(path)
    assert only_rearranges(log.commit(log.newest))
    assert days(path, "remove") == days(path, "add") == {"2026-03-03"}
    assert len(rows(path)) == len(held) + 2
    third = [("day", "=", date(2026, 3, 3))]
    shops = deltalake.DeltaTable(str(path)).to_pyarrow_table(filters=third)["shop"].to_pylist()
    assert shops == sorted(shops) == ["0", "0", "a", "a", "b", "b"]
    assert put_in_order(path, ("shop", "id")) == 0


def test_files_as_large_as_the_table_declares_are_left(path):
    def joined(size: str) -> int:
        set_properties(path, each_once(properties={"delta.targetFileSize": size}), None)
        return compaction.small_files(path)

    assert [joined("1"), joined("1kb"), joined("1 GB")] == [0, 0, 6]
    assert compaction.large(deltalake.DeltaTable(str(path))) == 2**30


def test_rows_without_a_partitions_value_are_joined_too(path):
    for _ in range(2):
        lost = sales(range(1), "a").set_column(2, "day", pa.nulls(2, pa.date32()))
        deltalake.write_deltalake(str(path), lost, mode="append")
    assert put_in_order(path, ("shop",)) == 8
    assert compaction.small_files(path) == 0
    assert len(rows(path)) == 16
