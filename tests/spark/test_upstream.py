"""A Delta table as a topic: its rows are drained by their numbers, and what is replaced in it marks
what depends on it, which a repair mends by reading the table as it is.
"""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa

from spark_jobs.admin.rebuild.switch import behind, switch
from spark_jobs.admin.rewind import rewind
from spark_jobs.repair.find.coverage import coverage
from spark_jobs.repair.find.ranges_due import touched
from spark_jobs.runs.plan import plan
from spark_jobs.side.refusals import refuse_misdeclared
from spark_jobs.source.sources import source_of
from spark_jobs.spec import Aggregate, Field, Pipeline, Table, Transform, Tumbling
from spark_jobs.storage import failpoint
from tests.harness.crash import Images, over
from tests.harness.scene import Scene
from tests.harness.turns import alike
from tests.spark.test_rebuild import Rebuilding
from tests.spark.test_repair import Repairs
from tests.spark.told import fates

pytestmark = alike("a topic that is no broker's")

HOUR = timedelta(hours=1)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
FIELDS = (
    Field(name="at", type="timestamp"),
    Field(name="shop", type="string", required=False),
    Field(name="amount", type="decimal(10,2)"),
)
SUMS = {"sales": "count(*)", "sum": "sum(amount)"}
SALES = Aggregate(window=Tumbling(size=HOUR), keys=("shop",), measures=SUMS, counts="sales")


def spec_of(path: Path, **given: Any) -> Pipeline:
    table = Table(path=str(path), name="orders", event_time="at", fields=FIELDS)
    usual = {"about": "sales", "watermark_delay": HOUR, "steps": (SALES,)}
    return Pipeline(name="sales", topic=table, **{**usual, **given})


def rows(*given: tuple[float, str, float]) -> pa.Table:
    schema = pa.schema(
        {"at": pa.timestamp("us", "UTC"), "shop": pa.string(), "amount": pa.decimal128(10, 2)}
    )
    made = [{"at": NOON + HOUR * at, "shop": shop, "amount": amount} for at, shop, amount in given]
    for row in made:
        row["amount"] = None if row["amount"] is None else Decimal(row["amount"])
    return pa.Table.from_pylist(made, schema)


def append(path: Path, *given: tuple[float, str, float]) -> None:
    deltalake.write_deltalake(str(path), rows(*given), mode="append")


def held(made: Scene) -> set[tuple[Any, ...]]:
    return {
        ((row["window_start"] - NOON) // HOUR, row["shop"], row["sales"], int(row["sum"]))
        for row in made.table()
    }


def truth(path: Path, until: float) -> set[tuple[Any, ...]]:
    """What the table has now, by plain Python, of windows that end by then."""
    found = defaultdict[tuple[int, str], list[int]](list)
    for row in deltalake.DeltaTable(str(path)).to_pyarrow_table().to_pylist():
        if row["amount"] is not None:
            found[(row["at"] - NOON) // HOUR, row["shop"]].append(int(row["amount"]))
    return {(*key, len(of), sum(of)) for key, of in found.items() if key[0] + 1 <= until}


def test_rows_are_drained_killed_resumed_replaced_and_mended(tmp_path, monkeypatch, spark):
    orders = tmp_path / "orders"
    append(orders, (0, "a", 1), (0, "b", 2), (1, "a", None), (9, "a", 4))
    made = Scene("no.broker:9", tmp_path, spec_of(orders), topic="orders", stores=1)
    made.run("first")
    append(orders, (10, "a", 5), (2, "a", 7), (10, "b", 6))
    append(orders, (10, "a", 8), (30, "a", 1))
    images = Images(made, tmp_path / "images")
    with monkeypatch.context() as at:
        at.setattr(failpoint, "at", images.at)
        made.run("second")
    wanted = truth(orders, 29) - {(2, "a", 1, 7)}
    killed = [
        over(made, images.taken[each, n])
        for each, n in (("table.committed", 2), ("planned", 2), ("rows.noted", 1))
    ]
    for each in (*killed, made):
        each.run("resumed")
        assert held(each) == wanted
        assert [row["offset"] for row in each.ops("late")] == [5]
        assert [row["offset"] for row in each.ops("quarantine")] == [2]
    assert plan(made.spec, made.settings).idle
    table = deltalake.DeltaTable(str(orders))
    table.update(updates={"amount": "CAST(100 AS DECIMAL(10,2))"}, predicate="shop = 'b'")
    table.delete("shop = 'a' AND amount = 1.00 AND at < '2026-01-01T13:00:00Z'")
    table.optimize.compact()
    found = plan(made.spec, made.settings)
    assert not found.idle, found.lines
    made.run("third")
    assert held(made) == wanted, "a drain takes nothing back"
    due = touched(made.spec, made.paths)
    assert [(r.start - NOON) // HOUR for r in due.ranges] == [0, 2, 10]
    began = source_of(made.spec, made.settings).state().earliest
    assert any(each.outdated for each in coverage(made.spec, made.paths, began).intervals)
    refuse_misdeclared(made.spec, made.settings)
    told = fates(made.spec, made.settings, [(0, 2), (0, 4), (0, 5)])
    assert [told[0, n].became for n in (2, 4, 5)] == ["malformed", "accepted", "late"]
    repaired, _ = Repairs(made).done()
    assert (repaired.change.unexplained, repaired.change.unaccounted) == (0, 0)
    assert held(made) == truth(orders, 29)
    assert touched(made.spec, made.paths).ranges == ()
    proof, _ = Repairs(made).done("verify", NOON, NOON + HOUR * 20)
    assert proof.change.differs == 0 < proof.change.rows_after
    rewind(made.spec, made.settings, 0).execute()
    made.run("behind a rewind")
    Repairs(made).done()
    assert held(made) == truth(orders, 29)
    append(orders, (40, "c", 1), (3, "c", 9))
    made.run("goes on")
    Repairs(made).done()
    assert held(made) == truth(orders, 39)


def test_rows_without_state_are_replaced_too_and_batches_end_between_commits(tmp_path, spark):
    orders = tmp_path / "orders"
    append(orders, (0, "a", 1), (1, "b", 2))
    steps = (Transform(where="shop <> 'no'"),)
    spec = spec_of(orders, steps=steps, watermark_delay=None, max_offsets_per_batch=1)
    made = Scene("no.broker:9", tmp_path, spec, topic="orders", stores=1)
    made.run("first")
    for hour in (2, 3):
        append(orders, (hour, "a", hour), (hour, "no", 1), (hour + 0.5, "b", hour))
    made.run("second")
    assert {row["batch_id"]: row["read"] for row in made.ops("batches")} == {0: 2, 1: 3, 2: 3}
    table = deltalake.DeltaTable(str(orders))
    table.delete("shop = 'a'")
    append(orders, (9, "a", 9))
    made.run("third")

    def rows() -> list[tuple[Any, ...]]:
        return sorted((row["at"], row["shop"], row["amount"]) for row in made.table())

    def wanted() -> list[tuple[Any, ...]]:
        there = deltalake.DeltaTable(str(orders)).to_pyarrow_table().to_pylist()
        return sorted((r["at"], r["shop"], r["amount"]) for r in there if r["shop"] != "no")

    assert len(rows()) == len(wanted()) + 3
    repaired, _ = Repairs(made).done()
    assert (repaired.change.unexplained, repaired.change.removed) == (0, 3)
    assert rows() == wanted()
    assert Repairs(made).plan().idle


def test_what_is_gone_or_made_anew_is_refused(tmp_path, spark):
    orders = tmp_path / "orders"
    append(orders, (0, "a", 1))
    made = Scene("no.broker:9", tmp_path, spec_of(orders), topic="orders", stores=1)
    made.run("first")
    append(orders, (1, "a", 2))
    append(orders, (9, "a", 3))
    gone = [*orders.glob("*.parquet")]
    table = deltalake.DeltaTable(str(orders))
    table.optimize.compact()
    [lost, *_] = [f for f in gone if f.name == _named(orders, 1)]
    lost.unlink()
    assert made.drain("refused").problem.code == "RECORDS_GONE"
    made.change(on_lost_records="skip")
    made.run("passes over it")
    passed = [(row["read"], row["gaps"], row["unaccounted"]) for row in made.ops("batches")]
    assert (1, 1, 0) in passed
    shutil.rmtree(orders)
    append(orders, (0, "a", 1))
    assert made.drain("anew").problem.code == "TOPIC_REMADE"
    shutil.rmtree(orders)
    assert made.drain("absent").problem.code == "UPSTREAM_UNFIT"


def test_a_rebuild_reads_the_table_as_it_is_and_goes_on_behind_its_switch(tmp_path, spark):
    orders = tmp_path / "orders"
    append(orders, (0, "a", 1), (0, "b", 2), (9, "a", 4))
    made = Scene("no.broker:9", tmp_path, spec_of(orders), topic="orders", stores=1)
    made.run("first")
    table = deltalake.DeltaTable(str(orders))
    table.update(updates={"amount": "CAST(100 AS DECIMAL(10,2))"}, predicate="shop = 'b'")
    append(orders, (10, "a", 5), (2, "a", 7), (30, "a", 1))
    made.run("second")
    it = Rebuilding(made)
    it.begin()
    it.compute("rebuild-1")
    append(orders, (31, "b", 3), (40, "a", 1))
    table = deltalake.DeltaTable(str(orders))
    table.delete("shop = 'a' AND amount = 4.00")
    made.run("beside")
    it.compute("rebuild-2")
    assert behind(it.live, it.side) == 0
    switch(it.spec, it.next, it.root, "switch")
    made.spec = it.next
    append(orders, (41, "b", 6), (50, "a", 1), (3, "c", 9))
    made.run("third")
    assert held(made) != truth(orders, 49)
    Repairs(made).done()
    assert held(made) == truth(orders, 49)
    assert plan(made.spec, made.settings).idle


def _named(orders: Path, version: int) -> str:
    """The file that this version has added."""
    lines = (orders / "_delta_log" / f"{version:020}.json").read_text().splitlines()
    [name] = [each["add"]["path"] for each in map(json.loads, lines) if "add" in each]
    return name
