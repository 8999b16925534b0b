"""A table beside the stream: what a carrier charges, and a step that looks it up."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import deltalake
import pyarrow as pa
from pyspark.sql import DataFrame, functions as F

from spark_jobs import failpoint
from spark_jobs.repair.manifest import approve
from spark_jobs.side.port import Changed, Pin
from spark_jobs.spec import Aggregate, Pipeline, Tumbling
from spark_jobs.spec.origin import computed
from spark_jobs.spec.side import SideTable
from spark_jobs.spec.steps.step import Balance, Step
from spark_jobs.topics.flights import FLIGHTS
from tests.harness import oracle
from tests.harness.compare import assert_same
from tests.harness.crash import Images, over
from tests.spark import truth
from tests.spark.operators import ON_TIME, Operator
from tests.spark.test_repair import Repairs

NEW_YEAR = datetime(2013, 1, 1, tzinfo=UTC)
HOUR = Tumbling(size="1 hour")
CARRIERS = "9E AA AS B6 DL EV F9 FL HA MQ OO UA US VX WN YV".split()


class Fees(SideTable):
    """A Delta table: carrier string, fee bigint."""

    side: ClassVar = "tests.seams.test_side:FeesSide"
    path: str


class FeesSide:
    """See side/port.py."""

    def __init__(self, declared: Fees, _: object) -> None:
        self.path = declared.path

    def now(self) -> Pin:
        table = deltalake.DeltaTable(self.path)
        return Pin(table_id=str(table.metadata().id), version=table.version())

    def has(self, pin: Pin) -> bool:
        known = self.now()
        if known.table_id != pin.table_id or pin.version > known.version:
            return False
        files = deltalake.DeltaTable(self.path, version=pin.version).file_uris()
        return all(Path(file).exists() for file in files)

    def rows(self, spark, pin: Pin) -> DataFrame:
        return spark.read.format("delta").option("versionAsOf", pin.version).load(self.path)

    def changed(self, spark, since: Pin, until: Pin):
        was, now = (self.rows(spark, pin) for pin in (since, until))
        differing = was.exceptAll(now).union(now.exceptAll(was)).select("carrier").distinct()
        yield from (Changed(json.dumps(row.asDict()), None, None) for row in differing.collect())


class Charge(Step):
    """What the carrier of each row charges: the column fee, null if nobody knows."""

    operator: ClassVar = "tests.seams.test_side:ChargeOperator"
    kind: Literal["charge"] = "charge"
    stateful: Literal[False] = False
    by: Fees
    sides = property(lambda self: (self.by,))
    balance: ClassVar = Balance("rows", False, True, False)
    described: ClassVar = "look up what the carrier charges"

    def columns_after(self, columns):
        return (*columns, "fee")

    def types_after(self, types):
        return types | {"fee": "bigint"}

    def origins_after(self, origins, event_time):
        return origins | {"fee": computed(["carrier"], origins, "transformation")}

    def time_after(self, event_time):
        return event_time


class ChargeOperator(NamedTuple):
    step: Charge

    def row_part(self, rows, at) -> DataFrame:
        return rows.join(F.broadcast(at.sides[self.step.by.name]), "carrier", "left")


def put(fees: Fees, version: int) -> None:
    """Each version has other fees, and lacks other carriers."""
    known = [each for each in CARRIERS if (ord(each[1]) + version) % 5]
    rows = [{"carrier": each, "fee": 100 * version + ord(each[0])} for each in known]
    deltalake.write_deltalake(fees.path, pa.Table.from_pylist(rows), mode="overwrite")
    assert FeesSide(fees, None).now().version == version


def charged(spec: Pipeline, version: str) -> Operator:
    """By DuckDB. `version`: SQL over the records, which fees each is charged."""
    fee = f"""CASE WHEN (ascii(carrier[2]) + {version}) % 5 <> 0
                   THEN 100 * {version} + ascii(carrier[1]) END"""
    sql = f"""
        SELECT time_bucket(INTERVAL 1 HOUR, event_time) AS window_start, window_start + INTERVAL 1 HOUR AS window_end,
               carrier, count(*) AS flights, sum({fee})::BIGINT AS fees
        FROM ({ON_TIME}) GROUP BY window_start, carrier HAVING window_end <= $watermark"""
    return Operator(spec, sql, until="time_bucket(INTERVAL 1 HOUR, event_time) + INTERVAL 1 HOUR")


def hold(made, *wanted: int) -> truth.Truth:
    """Each delivery has the fees that are noted for its batch, which are these versions."""
    ends, noted = truth.ends(made), made.paths.checkpoint / "inputs"
    notes = {int(file.name): json.loads(file.read_text()) for file in noted.iterdir()}
    found: dict[int, int] = {}
    for row in made.ledger.to_pylist():
        batch = next(
            n for n, end in enumerate(ends) if row["offset"] < end.get(row["partition"], 0)
        )
        pin = notes[max(each for each in notes if each <= batch)]["inputs"]["fees"]
        assert found.setdefault(row["delivery"], pin["version"]) == pin["version"]
    assert tuple(found[number] for number in sorted(found)) == wanted
    return truth.hold(made, charged(made.spec, f"[{', '.join(map(str, wanted))}][delivery]"))


def test_a_table_beside_the_stream_is_read_by_the_version_noted(scene, monkeypatch, tmp_path):
    put(fees := Fees(name="fees", path=str(tmp_path / "fees")), 0)
    sums = {"flights": "count(*)", "fees": "sum(fee)"}
    steps = (
        Charge(by=fees),
        Aggregate(window=HOUR, keys=("carrier",), measures=sums, counts="flights"),
    )
    usual: dict[str, Any] = {"about": "Fees", "topic": FLIGHTS, "watermark_delay": "2 hours"}
    made = scene(Pipeline(name="charged", steps=steps, **usual), "first", events=3000, deliveries=3)
    put(fees, 1)
    made.deliver()
    images = Images(made, tmp_path / "images")
    with monkeypatch.context() as at:
        at.setattr(failpoint, "at", images.at)
        made.run("second")
    hold(made, 0, 1)
    put(fees, 2)
    newest = max(batch for place, batch in images.taken if place == "planned")
    print(images.taken)
    moments = {("planned", 2): 2, ("table.committed", 2): 1}
    again = [(over(made, images.taken[moment]), wanted) for moment, wanted in moments.items()]
    for each, wanted in again:
        each.run("resumed")
        hold(each, 0, wanted)
    made.deliver()
    for each, wanted in (*again, (made, 1)):
        each.run("third")
        known = hold(each, 0, wanted, 2)
    assert known.rows
    assert known.late
    repairs, until = Repairs(made), known.watermark - HOUR.size * 3
    plan = repairs.plan("backfill", NEW_YEAR, until)
    put(fees, 3)
    staged = repairs.stage(plan)
    assert (staged.problem, staged.change.unaccounted) == (None, 0)
    approve(made.paths, plan.repair_id, "test")
    repairs.swap(plan)
    wanted = truth.canonical(charged(made.spec, "2"), made.ledger, until)
    found = [row for row in made.table() if row["window_end"] <= until]
    assert_same(oracle.comparable(found), oracle.comparable(wanted), "the table")
    assert json.loads(repairs.row(plan)["inputs"])["fees"]["version"] == 2
