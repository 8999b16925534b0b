"""A table that follows a key, from a topic of Debezium's changes: out of order over batches, copied,
deleted and made again. Whatever is killed, it is DuckDB's over all changes, and so is its account.
"""

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import deltalake
import duckdb
import pyarrow as pa
import pytest
from confluent_kafka import Producer

from local.broker import create_topic
from spark_jobs.admin.doctor import doctor
from spark_jobs.admin.maintain import maintain
from spark_jobs.admin.rewind import rewind
from spark_jobs.checkpoint.notes.live import refuse_dead
from spark_jobs.sink.keyed import driver
from spark_jobs.spec import Check, Field, Latest, Layout, Pipeline, Topic, Transform
from spark_jobs.storage import failpoint
from spark_jobs.table.delta.log_entries import entries
from spark_jobs.table.published import table as published_table
from tests.harness.compare import assert_same
from tests.harness.crash import Images, copied, over
from tests.harness.roots import ROOT, rows_of
from tests.harness.scene import Scene
from tests.harness.turns import held_by

held = held_by("unit/test_latest.py")

ORDERS: Final = Topic(
    name="shop.public.orders",
    envelope="debezium",
    tombstones="dropped",
    event_time="changed_at",
    fields=(
        Field(name="order_id", type="bigint", path="id"),
        Field(name="status", type="string", required=False),
        Field(name="amount", type="decimal(10,2)", required=False),
        Field(name="tags", type="map<string,string>", required=False),
        Field(name="op", type="string", part="envelope"),
        Field(name="lsn", type="bigint", part="envelope", path="source.lsn"),
        Field(name="changed_at", type="timestamp", part="envelope", path="ts_ms", format="ms"),
    ),
)
SPEC: Final = Pipeline(
    name="orders_now",
    about="The present row of each order.",
    topic=ORDERS,
    steps=(Latest(keys=("order_id",), order_by=("lsn",), deletes="op = 'd'"),),
    output_checks=(
        Check(type="expect_column_values_to_not_be_null", kwargs={"column": "status"}),
        Check(type="expect_column_values_to_be_unique", kwargs={"column": "order_id"}),
    ),
)
SHOWN: Final = ("order_id", "status", "amount", "op", "lsn", "changed_at")
NEWEST: Final = """
    SELECT order_id, status, amount::DECIMAL(10,2) AS amount, op, lsn, epoch_ms(ts_ms) AT TIME ZONE 'UTC' AS changed_at
    FROM changes QUALIFY row_number() OVER (PARTITION BY order_id ORDER BY lsn DESC, place DESC, part DESC) = 1
"""


def as_json(change: dict[str, Any]) -> bytes:
    return json.dumps(change).encode()


class Shop(NamedTuple):
    """A table of a shop whose changes go to the scene's topic, and what it has sent."""

    made: Scene
    sent: list[dict[str, Any]]
    seed: random.Random
    encode: Callable[[dict[str, Any]], bytes] = as_json

    def change(self, lsn: int, op: str, order_id: int) -> dict[str, Any]:
        amount = f"{self.seed.randint(1, 9999) / 100:.2f}"
        status = self.seed.choice(["placed", "paid", "shipped"])
        row = {"id": order_id, "status": status, "amount": float(amount), "tags": {"n": str(lsn)}}
        gone = op == "d"
        return {
            "before": {"id": order_id} if gone else None,
            "after": None if gone else row,
            "source": {"connector": "postgresql", "table": "orders", "lsn": lsn},
            "op": op,
            "ts_ms": 1_764_064_800_000 + lsn,
        }

    def changes(self, first: int, count: int) -> list[dict[str, Any]]:
        """In the order of the log: rows of 60 orders that come, change, go, and come again."""
        made, there = list[dict[str, Any]](), set[int]()
        for lsn in range(first, first + count):
            order = self.seed.randrange(60)
            op = "c" if order not in there else self.seed.choice("uuud")
            (there.discard if op == "d" else there.add)(order)
            made.append(self.change(lsn, op, order))
        return made

    def snapshot(self, lsn: int, changes: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The rows as they were behind this place in the log, as a connector reads them again."""
        rows = dict[int, dict[str, Any]]()
        for change in changes[: lsn - changes[0]["source"]["lsn"] + 1]:
            row = change["before"] or change["after"]
            rows[row["id"]] = change
        return [
            row | {"op": "r", "source": row["source"] | {"lsn": lsn}}
            for row in rows.values()
            if row["op"] != "d"
        ]

    def send(self, changes: list[dict[str, Any]]) -> None:
        """As a connector that starts again sends them: some twice. A tombstone follows a delete."""
        records = [(each["source"]["lsn"], self.encode(each)) for each in changes]
        keys = [(each["before"] or each["after"])["id"] for each in changes]
        producer = Producer({"bootstrap.servers": self.made.kafka})

        def sent(change: dict[str, Any]) -> Any:
            row = change["after"] or {}
            known = {
                "order_id": (change["before"] or change["after"])["id"],
                "status": row.get("status"),
                "amount": row.get("amount"),
                "op": change["op"],
                "lsn": change["source"]["lsn"],
                "ts_ms": change["ts_ms"] if row else None,
            }
            # A delete has its order and its place alone: what else it had is gone.
            gone = {} if row else {"op": None}
            return lambda _, message: self.sent.append(
                known | gone | {"deleted": not row, "part": message.partition(), "place": message.offset()}
            )  # fmt: skip

        for key, change, (lsn, value) in zip(keys, changes, records, strict=True):
            producer.produce(self.made.topic, value, str(key), lsn % 2, on_delivery=sent(change))
            if change["op"] == "d" and lsn % 3 == 0:
                producer.produce(self.made.topic, None, str(key), lsn % 2)
        producer.flush()

    def disordered(self, changes: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
        """Three deliveries: each has some of all times, and copies of what others had."""
        parts: list[list[dict[str, Any]]] = [[], [], []]
        for change in changes:
            at = self.seed.choices(range(3), [6, 3, 3])[0]
            parts[at].append(change)
            if self.seed.random() < 0.1:
                parts[self.seed.randrange(3)].append(change)
        for part in parts:
            self.seed.shuffle(part)
        return parts

    def newest(self) -> list[dict[str, Any]]:
        """By DuckDB over all that was sent: the rows that are there, and the deletes."""
        changes = pa.Table.from_pylist(self.sent)  # noqa: F841 - found by its name
        with duckdb.connect() as db:
            db.sql("SET TimeZone = 'UTC'")
            return db.sql(NEWEST).to_arrow_table().to_pylist()

    def assert_exact(self, found: Any = None) -> None:
        """Table and deletes are DuckDB's; the batches' accounts sum up to what was sent."""
        wanted = self.newest()
        found = found or rows_of(self.made.paths.table)
        assert_same(
            ({name: row[name] for name in SHOWN} for row in found if not row["_sluice_deleted"]),
            ({name: row[name] for name in SHOWN} for row in wanted if row["op"]),
            "the table",
        )
        assert_same(
            ((row["order_id"], row["lsn"]) for row in found if row["_sluice_deleted"]),
            ((row["order_id"], row["lsn"]) for row in wanted if not row["op"]),
            "the deletes that it remembers",
        )
        sums = Counter[str]()
        for row in self.made.ops("batches"):
            sums.update({name: n for name, n in row.items() if isinstance(n, int)})
        fates = ("inserted", "updated", "deleted", "absent", "superseded", "duplicates")
        assert sums["accepted"] == len(self.sent) == sum(sums[name] for name in fates)
        assert sums["unaccounted"] == 0
        assert sums["inserted"] - sums["deleted"] == sum(bool(row["op"]) for row in wanted)


def shop_of(kafka, folder, spec=SPEC, seed=41) -> Shop:
    """A shop whose topic is there, and has nothing."""
    made = Scene(kafka, folder, spec, partitions=2, checked=True)
    create_topic(kafka, made.topic, 2)
    return Shop(made, [], random.Random(seed))


@pytest.fixture
def shop(kafka, tmp_path) -> Shop:
    return shop_of(kafka, tmp_path)


def published(made: Scene, version: int | None) -> list[dict[str, Any]]:
    assert version is not None
    published_table.move(made.paths, version, refuse_dead)
    return deltalake.DeltaTable(str(made.paths.published_table)).to_pyarrow_table().to_pylist()


def twice_drained(shop: Shop, folder: Path, count: int) -> dict[str, Path]:
    """Two of three deliveries drained; what a kill at each place of the second leaves. The third
    waits.
    """
    first, second, third = shop.disordered(shop.changes(1, count))
    shop.send(first)
    report = shop.made.run("first")
    shop.assert_exact()
    assert report.account.filtered > 0, "the tombstones"
    shop.send(second)
    images = Images(shop.made, folder / "images")
    with pytest.MonkeyPatch.context() as once:
        once.setattr(failpoint, "at", images.at)
        shop.made.run("second")
    shop.assert_exact()
    shop.send(third)
    return {place: image for (place, _), image in images.taken.items()}


@pytest.fixture(scope="module")
def twice(kafka, as_submitted, tmp_path_factory) -> tuple[Shop, dict[str, Path]]:
    folder = tmp_path_factory.mktemp("twice")
    shop = shop_of(kafka, folder)
    return shop, twice_drained(shop, folder, 500)


@pytest.mark.parametrize("place", ["planned", "table.committed", "audit"])
def test_behind_a_kill_the_table_is_duckdbs_over_disorder_copies_and_deletes(twice, place):
    shop, images = twice
    killed = shop._replace(made=over(shop.made, images[place], shop.made.spec))
    killed.made.run(f"behind {place}")
    killed.assert_exact()


@held
def test_the_table_is_duckdbs_in_many_batches_published_rewound_and_kept_up(twice, tmp_path):
    shop = twice[0]._replace(made=copied(twice[0].made, tmp_path / ROOT))
    shop.made.change(max_offsets_per_batch=60)
    report = shop.made.run("third")
    assert len(report.batches) > 2
    shop.assert_exact()

    shown = published(shop.made, report.table_version)
    assert {*shown[0]} == {*SHOWN, "tags"}
    assert_same(
        ({name: row[name] for name in SHOWN} for row in shown),
        ({name: row[name] for name in SHOWN} for row in shop.newest() if row["op"]),
        "the published table",
    )
    assert all(row["tags"] == [("n", str(row["lsn"]))] for row in shown)

    assert doctor(shop.made.spec, shop.made.settings).execute is None
    rewind(shop.made.spec, shop.made.settings, 0).execute()
    shop.made.change(max_offsets_per_batch=None)
    shop.made.run("behind the rewind")
    shop.assert_exact()
    maintain(shop.made.spec, shop.made.settings).execute()
    shop.assert_exact()


PARTED: Final = SPEC.model_copy(
    update={
        "steps": (
            Transform(sql="SELECT *, CAST(lsn AS BIGINT) % 3 AS part FROM rows"),
            *SPEC.steps,
        ),
        "layout": Layout(partition_by=("part",)),
        "output_checks": (),
    }
)
"""A row's next change may have another part."""


@held
def test_delta_rs_and_spark_merge_alike_also_rows_that_go_from_folder_to_folder(
    kafka, tmp_path, monkeypatch
):
    shop = shop_of(kafka, tmp_path, PARTED, 11)
    other = shop._replace(made=Scene(kafka, tmp_path / "spark", PARTED, topic=shop.made.topic))
    told = {}
    for number, part in enumerate(shop.disordered(shop.changes(1, 300))[:2]):
        shop.send(part)
        for name, each, most in (("driver", shop, driver.MOST_BYTES), ("spark", other, 0)):
            with monkeypatch.context() as once:
                once.setattr(driver, "MOST_BYTES", most)
                told[name] = each.made.run(f"{number}").account
            each.assert_exact()
            found = [row for row in rows_of(each.made.paths.table) if not row["_sluice_deleted"]]
            assert {row["part"] for row in found} == {0, 1, 2}
            assert all(row["part"] == row["lsn"] % 3 for row in found)
        assert told["driver"] == told["spark"]
    engines = {
        "delta-rs" in entry["engineInfo"]
        for entry in entries(other.made.paths.table)
        if entry["operation"] == "MERGE"
    }
    assert engines == {False}


@pytest.fixture(scope="module")
def once(kafka, as_submitted, tmp_path_factory) -> Shop:
    """Half of its changes drained; the others wait."""
    shop = shop_of(kafka, tmp_path_factory.mktemp("once"))
    first, *rest = shop.disordered(shop.changes(1, 120))
    shop.send(first)
    shop.made.run("first")
    for part in rest:
        shop.send(part)
    return shop


@held
@pytest.mark.parametrize(
    "feature",
    [
        "'delta.enableDeletionVectors' = 'true'",
        "'delta.enableTypeWidening' = 'true'",
        "'delta.columnMapping.mode' = 'name'",
        "'delta.enableRowTracking' = 'true'",
    ],
)
def test_a_table_that_only_spark_reads_or_writes_is_merged_by_spark(once, tmp_path, spark, feature):
    shop = once._replace(made=copied(once.made, tmp_path / ROOT))
    table = str(shop.made.paths.table)
    spark.sql(f"ALTER TABLE delta.`{table}` SET TBLPROPERTIES ({feature})")
    shop.made.run("behind it")
    shop.assert_exact(spark.read.format("delta").load(table).toArrow().to_pylist())


@held
def test_many_records_without_a_place_are_malformed_by_the_decoder_and_kept(shop):
    fields = [
        field.model_copy(update={"required": False}) if field.name == "lsn" else field
        for field in ORDERS.fields
    ]
    topic = shop.made.spec.topic.model_copy(update={"fields": tuple(fields)})
    shop.made.change(
        topic=topic.requiring(SPEC.steps[0].placed),
        state_checks_off=("malformed_share", "rejected_share"),
    )
    shop.send(shop.changes(1, 50))
    without = shop.change(99, "c", 7)
    del without["source"]["lsn"]
    count = 150
    shop.made.send(*[json.dumps(without)] * count, key="7", partition=0)
    report = shop.made.run()
    shop.assert_exact()
    assert report.account.malformed == count
    kept = shop.made.ops("quarantine")
    assert not any(row["reason"].startswith("step 1 (latest)") for row in kept)
    assert [row["value"] for row in kept] == [json.dumps(without).encode()] * count
