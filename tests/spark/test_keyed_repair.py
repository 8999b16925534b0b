"""A table that follows a key: quarantined changes are replayed, their swap is undone, and each key is
verified, to DuckDB's table over the same changes; so is a table that somebody has edited.
"""

import json
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import deltalake
import duckdb
import pyarrow as pa
import pytest
from confluent_kafka import Producer

from local import broker
from spark_jobs.errors import (
    ApprovalMissing,
    RangeInvalid,
    RangeUnsupported,
    RecordsUnreachable,
    StagingStale,
)
from spark_jobs.messages.request import Request
from spark_jobs.repair.manifest import approve
from spark_jobs.repair.planner import plan_repair
from spark_jobs.repair.stage import stage
from spark_jobs.repair.swap import swap
from spark_jobs.repair.undo import undo
from spark_jobs.sink.keyed import driver
from spark_jobs.spec import History, Latest, Pipeline
from tests.harness.compare import assert_same
from tests.harness.refused import because, fails
from tests.harness.scene import Scene
from tests.harness.turns import alike
from tests.spark.test_history_step import FOLLOWS, START, TOPIC
from tests.spark.test_retention import remove_before

pytestmark = alike("a repair by key")

SHOWN = ("order_id", "lsn", "at", "status")
NEWEST = """
    SELECT order_id, lsn, "at", status FROM sent WHERE op != 'd'
    QUALIFY row_number() OVER (PARTITION BY order_id ORDER BY lsn DESC, "offset" DESC) = 1
"""
CHAINS = """
    WITH places AS (SELECT * FROM sent QUALIFY row_number() OVER (
        PARTITION BY order_id, lsn ORDER BY "offset" DESC) = 1),
    begun AS (SELECT *, max("at") OVER (PARTITION BY order_id ORDER BY lsn) AS valid_from FROM places),
    spans AS (SELECT *, lead(valid_from) OVER chain AS valid_to, lead(lsn) OVER chain IS NULL AS current
              FROM begun WINDOW chain AS (PARTITION BY order_id ORDER BY lsn))
    SELECT order_id, lsn, "at", status, valid_from, valid_to, current FROM spans WHERE op != 'd'
"""
CARRIED = CHAINS.replace(
    "lsn) AS valid_from FROM places",
    """lsn) AS valid_from,
        sum(CASE WHEN op = 'd' THEN 1 ELSE 0 END) OVER (PARTITION BY order_id ORDER BY lsn) AS life
        FROM places""",
).replace(
    "status, valid_from, valid_to, current FROM",
    """
        last_value(CASE WHEN op != 'd' THEN status END IGNORE NULLS) OVER (
            PARTITION BY order_id, life ORDER BY lsn) AS status, valid_from, valid_to, current FROM""",
)
LACKS = {"status": "status IS NULL"}
STEPS = {
    "latest": (Latest(**FOLLOWS), NEWEST.replace(" WHERE op != 'd'", "").join(
        ("SELECT * EXCLUDE op FROM (", ") WHERE op != 'd'")).replace("status FROM", "status, op FROM")),
    "history": (History(**FOLLOWS, valid_from="at"), CHAINS),
    "partial": (History(**FOLLOWS, valid_from="at", missing=LACKS), CARRIED),
}  # fmt: skip
KEPT = """
    SELECT * EXCLUDE op FROM (
        SELECT order_id, max(lsn) AS lsn, arg_max("at", lsn) AS "at", arg_max(op, lsn) AS op,
            arg_max_null(CASE WHEN op != 'd' THEN status END, lsn)
                FILTER (WHERE op = 'd' OR status IS NOT NULL) AS status
        FROM sent GROUP BY order_id) WHERE op != 'd'
"""
Row = dict[str, Any]


class Orders:
    """A topic of changes, and what was sent."""

    def __init__(self, kafka, folder, step, sql) -> None:
        topic = TOPIC.requiring(("status",))
        spec = Pipeline(name="orders_by_key", about="Orders.", topic=topic, steps=(step,))
        self.scene, self.sql = Scene(kafka, folder, spec, partitions=1), sql
        broker.create_topic(kafka, self.scene.topic, 1)
        self.sent: list[Row] = []
        self.seed = random.Random(41)
        self.producer = Producer({"bootstrap.servers": kafka})

    def send(self, numbers, lacking: float = 0.0) -> None:
        """Changes of 20 orders in a random order; a share of them lacks its status."""
        for lsn in self.seed.sample([*numbers], len(numbers)):
            op, status = self.seed.choice("uuud"), self.seed.choice("ABC")
            change = {"order_id": f"o{self.seed.randrange(20)}", "lsn": lsn, "op": op}
            change |= {"at": (START + timedelta(seconds=lsn)).isoformat(), "status": status}
            if bad := self.seed.random() < lacking:
                del change["status"]
            self.producer.produce(self.scene.topic, json.dumps(change), partition=0)
            self.sent.append({"status": None} | change | {"offset": len(self.sent), "bad": bad})
        self.producer.flush()

    def assert_exact(self, *, bad: bool) -> None:
        """The table is DuckDB's over all that was sent, with those that lacked a status or without."""
        given = [row | {"at": datetime.fromisoformat(row["at"])} for row in self.sent]
        sent = pa.Table.from_pylist([row for row in given if bad or not row["bad"]])  # noqa: F841
        with duckdb.connect() as db:
            db.sql("SET TimeZone = 'UTC'")
            wanted = db.sql(self.sql).to_arrow_table().to_pylist()
        found = [row for row in self.scene.table() if not row["_sluice_deleted"]]
        assert wanted
        assert_same(({name: row[name] for name in wanted[0]} for row in found), wanted, "the table")

    def repair(self, **asked: Any) -> tuple[str, Any]:
        """Its id and its report, once it is staged."""
        spec, settings = self.scene.spec, self.scene.settings
        plan = plan_repair(spec, settings, Request(**asked))
        assert not plan.idle, plan.lines
        plan.store(self.scene.paths)
        kind = plan.kind
        return plan.repair_id, stage(spec, settings, f"run-{kind}", plan.repair_id, kind=kind)

    def swap(self, repair_id: str):
        return swap(self.scene.spec, self.scene.settings.root, repair_id, "swap")

    def verify(self, keys: str = "true"):
        return self.repair(kind="verify", keys=keys)[1]

    def produce(self, *changes: Row) -> None:
        for change in changes:
            self.producer.produce(self.scene.topic, json.dumps(change), partition=0)
        self.producer.flush()

    def ahead(self, hours: int) -> None:
        """So far in the future a change may be from now on."""
        topic = self.scene.spec.topic.model_copy(update={"max_ahead": timedelta(hours=hours)})
        self.scene.change(topic=topic)

    def optional(self) -> None:
        """A status may be missing from now on."""
        self.scene.change(topic=self.scene.spec.topic.model_copy(update={"fields": TOPIC.fields}))


@pytest.mark.parametrize("name", STEPS)
def test_replay_undo_and_verify_by_key(kafka, tmp_path, monkeypatch, name):
    if name == "partial":  # in the driver: tests/unit/test_partial_versions.py
        monkeypatch.setattr(driver, "MOST_CHANGES", 0)
    orders = Orders(kafka, tmp_path, *STEPS[name])
    orders.send(range(1, 160), lacking=0.3)
    orders.scene.run("first")
    orders.assert_exact(bad=False)
    proved = orders.verify()
    assert proved.status == "succeeded", proved.problem
    assert proved.change.differs == 0
    assert proved.change.rows_before == proved.change.rows_after > 10

    orders.optional()
    replay, report = orders.repair(kind="replay")
    assert report.status == "succeeded", report.problem
    assert report.change.unexplained == 0
    assert report.change.merged > 5
    lacking = sum(row["bad"] for row in orders.sent)
    assert report.change.merged + report.change.superseded == report.change.replayed == lacking
    orders.send(range(160, 170))  # newer than all: none is left out because of a replayed one
    orders.scene.run("beside")
    done = orders.swap(replay)
    assert done.state == "swapped"
    orders.assert_exact(bad=True)
    assert orders.verify().change.differs == 0

    orders.send(range(170, 180))
    orders.scene.run("behind")
    undo(orders.scene.spec, orders.scene.settings.root, replay, "undo")
    orders.assert_exact(bad=False)
    if again := name == "latest":
        orders.swap(orders.repair(kind="replay")[0])
        orders.assert_exact(bad=True)

    table = deltalake.DeltaTable(str(orders.scene.paths.table))
    edited, lost, *_ = sorted(
        {row["order_id"] for row in orders.scene.table() if not row["_sluice_deleted"]}
    )
    table.update(updates={"lsn": "lsn + 1000"}, predicate=f"order_id = '{edited}'")
    table.delete(f"order_id = '{lost}'")
    assert orders.verify(f"order_id > '{lost}'").status == "succeeded"
    found = orders.verify()
    assert found.problem.code == "CHANGE_UNEXPLAINED"
    mended, report = orders.repair(kind="backfill", keys="true")
    assert report.status == "succeeded", report.problem
    assert report.change.unexplained == report.change.differs == found.change.differs > 1
    with fails(ApprovalMissing, "not_approved"):
        orders.swap(mended)
    approve(orders.scene.paths, mended, "ana")
    orders.swap(mended)
    orders.assert_exact(bad=again)
    assert orders.verify().change.differs == 0


def mended(orders, edit):
    """A person's edit is found, and the keys are computed again."""
    edit(deltalake.DeltaTable(str(orders.scene.paths.table)))
    assert orders.verify().problem.code == "CHANGE_UNEXPLAINED"
    repair_id, report = orders.repair(kind="backfill", keys="true")
    assert report.status == "succeeded", report.problem
    approve(orders.scene.paths, repair_id, "ana")
    orders.swap(repair_id)
    assert orders.verify().change.differs == 0


def test_rows_of_several_changes_are_replayed_undone_and_computed_again(kafka, tmp_path):
    orders = Orders(kafka, tmp_path, Latest(**FOLLOWS, missing="keep"), KEPT)
    orders.send(range(1, 160), lacking=0.3)
    orders.scene.run("first")
    orders.assert_exact(bad=False)
    orders.optional()
    replay, report = orders.repair(kind="replay")
    told = report.change
    assert report.status == "succeeded", report.problem
    assert told.merged + told.superseded == told.replayed == sum(r["bad"] for r in orders.sent)
    orders.swap(replay)
    orders.assert_exact(bad=True)
    undo(orders.scene.spec, orders.scene.settings.root, replay, "undo")
    orders.assert_exact(bad=False)
    replay, _ = orders.repair(kind="replay")
    orders.send(range(160, 200))
    orders.scene.run("beside")
    with fails(StagingStale, "places_changed"):
        orders.swap(replay)
    orders.swap(orders.repair(kind="replay")[0])
    orders.assert_exact(bad=True)
    lives = min(row["order_id"] for row in orders.scene.table() if not row["_sluice_deleted"])
    mended(orders, lambda t: t.update({"status": "'X'"}, predicate=f"order_id = '{lives}'"))
    orders.assert_exact(bad=True)


@pytest.mark.parametrize("name", [*STEPS, "kept", "kept, of an older change"])
def test_a_replayed_copy_does_not_undo_a_persons_correction(kafka, tmp_path, name):
    step, sql = STEPS.get(name, (Latest(**FOLLOWS, missing="keep"), KEPT))
    orders = Orders(kafka, tmp_path, step, sql)
    soon = (datetime.now(UTC) + timedelta(hours=5)).isoformat()
    sent = {"order_id": "o1", "lsn": 5, "at": soon, "op": "u", "status": "A"}
    orders.optional()
    orders.ahead(24)
    orders.produce(sent, sent | {"order_id": "o2"})
    if older := name.endswith("older change"):
        orders.produce(sent | {"lsn": 7, "status": None})
    orders.scene.run("first")
    orders.ahead(1)
    orders.produce(sent)
    orders.scene.run("quarantined")
    orders.ahead(24)
    table = deltalake.DeltaTable(str(orders.scene.paths.table))
    table.update(updates={"status": "'mended'"}, predicate="order_id = 'o1'")
    replay, report = orders.repair(kind="replay")
    assert report.status == "succeeded", report.problem
    assert (report.change.replayed, report.change.merged) == (1, 1)
    orders.swap(replay)
    found = {
        row["order_id"]: (row["status"], row["_sluice_offset"]) for row in orders.scene.table()
    }
    assert found == {"o1": ("mended", 2), "o2": ("A", 1)}
    if older:
        assert of_status(orders.scene.table()) == 3


def of_status(rows):
    """The offset of the change that set the status of o1."""
    [row] = (row for row in rows if row["order_id"] == "o1")
    return dict(row["_sluice_set"])["status"]["_sluice_offset"]


def test_what_cannot_be_is_refused_and_rows_of_lost_records_stay_where_that_is_asked_for(
    kafka, tmp_path
):
    orders = Orders(kafka, tmp_path, *STEPS["latest"])
    orders.send(range(1, 40))
    orders.scene.run()
    remove_before(orders.scene, 0, 25)
    with fails(RecordsUnreachable, "keys_gone", count=25):
        orders.verify()
    _, report = orders.repair(kind="verify", keys="true", without_lost=True)
    assert report.status == "succeeded", report.problem
    assert (report.change.differs, report.account.read) == (0, 14)
    with fails(RangeUnsupported, "by_keys"):
        orders.repair(kind="repair")
    with fails(RangeUnsupported, "by_keys"):
        orders.repair(kind="verify", start="2026-01-01", end="2026-01-02")
    with fails(RangeInvalid, "keys_of_others"):
        orders.repair(kind="verify", keys="status = 'A'")
    _, report = orders.repair(kind="verify", keys="order_id IN (SELECT 'o1')", without_lost=True)
    because(report.problem, RangeInvalid, "keys_refused")
