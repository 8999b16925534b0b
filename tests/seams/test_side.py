"""A table beside the stream: what a carrier charges, and a step that looks it up."""

import json
from datetime import UTC, datetime
from itertools import pairwise
from typing import ClassVar, Literal, NamedTuple

import deltalake
import pyarrow as pa
from pyspark.sql import DataFrame, functions as F

from spark_jobs.spec import Aggregate, Pipeline, Tumbling
from spark_jobs.spec.side import SideTable
from spark_jobs.spec.steps.step import Balance, Step
from spark_jobs.storage.pin import Changed, Pin
from spark_jobs.topics.flights import FLIGHTS
from tests.harness import oracle
from tests.harness.compare import assert_same
from tests.harness.crash import Images, over
from tests.harness.turns import alike
from tests.spark import truth
from tests.spark.operators import ON_TIME, Operator
from tests.spark.test_repair import Repairs

pytestmark = alike("a seam")

NEW_YEAR = datetime(2013, 1, 1, tzinfo=UTC)
HOUR = Tumbling(size="1 hour")
BEGIN = "time_bucket(INTERVAL 1 HOUR, event_time)"
GIVEN = {"about": "Fees", "topic": FLIGHTS, "watermark_delay": "2 hours"}
CARRIERS = "9E AA AS B6 DL EV F9 FL HA MQ OO US VX WN YV"


class Fees(SideTable):
    """A Delta table: carrier string, fee bigint. Its port is side/port.py."""

    side: ClassVar = "tests.seams.test_side:FeesSide"
    path: str


class FeesSide:
    def __init__(self, declared: Fees, _: object) -> None:
        self.path = declared.path

    def now(self) -> Pin:
        table = deltalake.DeltaTable(self.path)
        return Pin(table_id=str(table.metadata().id), version=table.version())

    def has(self, pin: Pin) -> bool:
        return pin.version <= self.now().version

    def keep(self, pin: Pin) -> None:
        """Nobody removes old files here."""

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

    def found_by(self, side):
        return {"carrier": "carrier"}

    def types_after(self, types):
        return types | {"fee": "bigint"}

    def origins_after(self, origins, event_time):
        return origins

    def time_after(self, event_time):
        return event_time


class ChargeOperator(NamedTuple):
    step: Charge

    def row_part(self, rows, at) -> DataFrame:
        return rows.join(F.broadcast(at.sides[self.step.by.name]), "carrier", "left")


def put(fees: Fees, version: int) -> None:
    """Each version has other fees; none knows of UA."""
    rows = [{"carrier": each, "fee": 100 * version + ord(each[0])} for each in CARRIERS.split()]
    deltalake.write_deltalake(fees.path, pa.Table.from_pylist(rows), mode="overwrite")


def charged(spec: Pipeline, version: str) -> Operator:
    """By DuckDB. `version`: SQL over the records, by which fees each is charged."""
    sql = f"""SELECT {BEGIN} AS window_start, window_start + INTERVAL 1 HOUR AS window_end, carrier, count(*) AS flights,
                     sum(CASE WHEN carrier <> 'UA' THEN 100 * {version} + ascii(carrier) END)::BIGINT AS fees
              FROM ({ON_TIME}) GROUP BY window_start, carrier HAVING window_end <= $watermark"""
    return Operator(spec, sql, until=f"{BEGIN} + INTERVAL 1 HOUR")


def hold(made, *wanted: int) -> truth.Truth:
    """Each delivery, a batch, has the fees that are noted for it, which are of these versions."""
    folder, ends = made.paths.checkpoint / "inputs", [{}, *truth.ends(made)]
    notes = {int(file.name): json.loads(file.read_text()) for file in folder.iterdir()}
    read = [batch for batch, (was, now) in enumerate(pairwise(ends)) if was != now]
    pins = [notes[max(each for each in notes if each <= batch)]["inputs"] for batch in read]
    assert [pin["fees"]["version"] for pin in pins] == [*wanted]
    return truth.hold(made, charged(made.spec, f"{[*wanted]}[delivery]"))


def test_a_table_beside_the_stream_is_read_by_the_noted_version(scene, tmp_path):
    put(fees := Fees(name="fees", path=str(tmp_path / "fees")), 0)
    sums = {"flights": "count(*)", "fees": "sum(fee)"}
    by_hour = Aggregate(window=HOUR, keys=("carrier",), measures=sums, counts="flights")
    spec = Pipeline(name="charged", steps=(Charge(by=fees), by_hour), **GIVEN)
    made = scene(spec, "first", events=3000, deliveries=3)
    put(fees, 1)
    made.deliver()
    with Images(made, tmp_path / "images", "planned", "table.committed") as images:
        made.run("second")
    hold(made, 0, 1)
    put(fees, 2)
    killed = {("planned", 2): 2, ("table.committed", 2): 1}  # which version each has then
    runs = [(over(made, images.taken[moment]), version) for moment, version in killed.items()]
    for each, version in runs:
        each.run("resumed")
        hold(each, 0, version)
    made.deliver()
    for each, version in (*runs, (made, 1)):
        each.run("third")
        known = hold(each, 0, version, 2)
    change = (repairs := Repairs(made)).done()[0].change
    assert (change.unaccounted, change.unexplained) == (0, 0)
    assert json.loads(made.ops("repairs")[-1]["inputs"])["fees"]["version"] == 2
    wanted = truth.canonical(charged(spec, "2"), made.ledger, known.watermark)
    assert_same(oracle.comparable(made.table()), oracle.comparable(wanted), "the repaired table")
    planned = repairs.plan("verify", NEW_YEAR, known.watermark - HOUR.size * 3)
    put(fees, 3)
    assert repairs.stage(planned).change.differs == 0
