"""What `where` tells of each of some hundred random records, against DuckDB over what was sent and
over the batches' offsets: after cuts, a kill, a repair, an undo and a rewind, with a table
beside the stream that changes from run to run.
"""

import json
import random
import uuid
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from local.broker import create_topic
from spark_jobs.admin.rewind import rewind
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.messages.request import Request
from spark_jobs.repair.manifest import approve
from spark_jobs.repair.planner import plan_repair
from spark_jobs.repair.stage import stage
from spark_jobs.repair.swap import swap
from spark_jobs.repair.undo import undo
from spark_jobs.source.place import Place
from spark_jobs.spec import Deduplicate, Field, Pipeline, Topic, Transform
from spark_jobs.spec.analysis.state_checks import REJECTIONS
from tests.harness.long_form import LONG
from tests.harness.moments import at, us
from tests.harness.turns import alike
from tests.seams.test_side import Charge, Fees, put
from tests.spark.told import fates

pytestmark = alike("the fate of a record")
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
TOPIC = Topic(
    name="sales",
    event_time="at",
    max_ahead="2 days",
    fields=(
        Field(name="id", type="string"),
        Field(name="at", type="timestamp"),
        Field(name="carrier", type="string"),
    ),
)
KEPT = "fee IS NULL OR fee % 3 <> 0"
"""By the version of the fees that the batch read."""
ORACLE = """
WITH own AS (
    SELECT s.*, b.batch, b.fees FROM sent s LEFT JOIN batches b
      ON s.part = b.part AND s.spot >= b.first AND s.spot < b.stop
), ruled AS (
    SELECT *, CASE WHEN carrier <> 'UA' THEN 100 * fees + ascii(carrier) END AS fee FROM own
), sorted AS (
    SELECT *, kind = 'good' AND (fee IS NULL OR fee % 3 <> 0) AS enters FROM ruled
), newest AS (
    SELECT batch, greatest(0, coalesce(max(at_us) FILTER (WHERE enters), 0) - 7200000000) AS mark
    FROM sorted GROUP BY batch
), marks AS (
    -- A batch judges by what the batches before the one before it led to.
    SELECT n.batch, coalesce(max(b.mark), 0) AS missed
    FROM numbers n LEFT JOIN newest b ON b.batch < n.batch - 1 GROUP BY n.batch
), judged AS (
    SELECT s.*, missed, CASE
        WHEN s.batch IS NULL THEN 'not read' WHEN kind <> 'good' THEN kind
        WHEN NOT enters THEN 'filtered' WHEN at_us <= missed THEN 'late' ELSE 'accepted' END AS became
    FROM sorted s LEFT JOIN marks USING (batch)
), firsts AS (
    -- All copies of a key have its time, so none comes when the key is gone, and is not late.
    SELECT id, min(batch) AS batch FROM judged WHERE became = 'accepted' GROUP BY id
), kept AS (
    SELECT j.id, list([j.part, j.spot] ORDER BY j.part, j.spot) AS places
    FROM judged j JOIN firsts f ON j.id = f.id AND j.batch = f.batch WHERE became = 'accepted'
    GROUP BY j.id
)
SELECT part, spot, batch, missed,
       CASE WHEN became <> 'accepted' THEN became WHEN NOT list_contains(places, [part, spot])
            THEN 'duplicate' WHEN len(places) = 1 THEN 'accepted' ELSE 'accepted or duplicate' END,
       CASE WHEN became = 'accepted' THEN list_filter(places, lambda x: x <> [part, spot]) ELSE [] END
FROM judged LEFT JOIN kept USING (id)
"""

REPLAYED = """
WITH ruled AS (
    SELECT *, CASE WHEN carrier <> 'UA' THEN 300 + ascii(carrier) END AS fee FROM sent
    WHERE renamed AND at_us < {closed}  -- the others wait: drains still write their rows
)
SELECT part, spot, fee IS NULL OR fee % 3 <> 0 FROM ruled
"""
"""By the last version of the fees."""


class Sales:
    """A topic of two partitions, and what was sent there."""

    def __init__(self, scene: Any, fees: Fees, seed: int) -> None:
        spec = Pipeline(
            name="sales", about="Sales.", topic=TOPIC, watermark_delay="2 hours",
            steps=(Charge(by=fees), Transform(where=KEPT), Deduplicate(keys=("id",))),
            max_offsets_per_batch=23, state_checks_off=tuple(REJECTIONS),
        )  # fmt: skip
        name = f"sales-{uuid.uuid4().hex[:8]}"
        self.made = scene(spec, events=1, partitions=2, topic=name)
        create_topic(self.made.kafka, name, 2)
        self.random = random.Random(seed)
        self.sent: list[dict[str, Any]] = []
        self.hour = 0.0

    def send(self, count: int) -> None:
        """Some are old, some copies, some no records, some of days to come."""
        for _ in range(count):
            good = [row for row in self.sent if row["kind"] == "good"]
            kind = self.random.choices(("good", "malformed", "premature"), (12, 1, 1))[0]
            self.hour += self.random.choice((0, 0, 0.1, 0.5))
            late = self.random.choice((0, 0, 0, 1, 1, 9))
            when = AT + timedelta(hours=self.hour - late, seconds=len(self.sent) % 50)
            carrier = self.random.choice(("AA", "B6", "DL", "UA", "VX"))
            row = {"id": f"s{len(self.sent)}", "at_us": us(when), "carrier": carrier}
            if kind == "good" and good and self.random.random() < 0.4:
                row = self.random.choice(good[-25:])
            if kind == "premature":
                row |= {"at_us": us(when + timedelta(days=30))}
            value = {"id": row["id"], "at": at(row["at_us"]).isoformat(), "carrier": row["carrier"]}
            renamed = kind == "malformed" and row["id"] == f"s{len(self.sent)}"
            if renamed:
                value["airline"] = value.pop("carrier")
            part = self.random.randrange(2)
            text = "{" if kind == "malformed" and not renamed else json.dumps(value)
            stamp = int((AT + timedelta(hours=self.hour)).timestamp() * 1000)
            self.made.send(text, partition=part, timestamp=stamp)
            spot = sum(each["part"] == part for each in self.sent)
            self.sent.append({**row, "kind": kind, "part": part, "spot": spot, "renamed": renamed})

    def hold(self) -> Counter[str]:
        """Each fate is DuckDB's, and they sum up to the accounts."""
        made, rows = self.made, self.made.ops("batches")
        folder = made.paths.checkpoint / "inputs"
        notes = {int(file.name): json.loads(file.read_text()) for file in folder.iterdir()}
        fees = {
            row["batch_id"]: notes[max(n for n in notes if n <= row["batch_id"])]["inputs"]["fees"]
            for row in rows
        }
        spans = [
            (
                row["batch_id"],
                int(part),
                json.loads(row["offsets_start"] or "{}").get(part, 0),
                stop,
            )
            for row in rows
            for part, stop in json.loads(row["offsets_end"]).items()
        ]
        sent = pa.Table.from_pylist(self.sent)
        batches = pa.Table.from_pylist(
            [
                {"batch": b, "part": p, "first": f, "stop": s, "fees": fees[b]["version"]}
                for b, p, f, s in spans
            ]
        )
        numbers = pa.table({"batch": [row["batch_id"] for row in rows]})
        wanted = {
            (part, spot): (batch, missed, became, {Place(*each) for each in of})
            for part, spot, batch, missed, became, of in duckdb.sql(ORACLE).fetchall()
        }
        assert (sent.num_rows, batches.num_rows, numbers.num_rows) == (
            len(wanted), len(spans), len(rows),
        )  # fmt: skip
        told = fates(made.spec, made.settings, sorted(wanted))
        sums = defaultdict(Counter)
        for place, (batch, missed, became, of) in wanted.items():
            fate = told[place]
            assert (fate.batch, str(fate.became)) == (batch, became), fate
            if became == "late":
                assert us(fate.watermark_missed) == missed, fate
            if "duplicate" in became:
                assert {*fate.copies} == of, fate
            sums[batch]["accepted" if "duplicate" in became else became] += 1
        for row in rows:
            for name in ("malformed", "premature", "filtered", "late", "accepted"):
                assert sums[row["batch_id"]][name] == row[name], (row["batch_id"], name)
        return Counter(str(each.became) for each in told.values())

    def kill(self) -> None:
        """As a kill between the table's commit and the checkpoint's leaves it."""
        last = Checkpoint(self.made.paths.checkpoint).committed()[-1]
        (self.made.paths.checkpoint / "commits" / str(last)).unlink()
        (self.made.paths.checkpoint / "commits" / f".{last}.crc").unlink(missing_ok=True)
        Cursor().write(self.made.paths.cursor)

    def repaired(self, **request: Any) -> str | None:
        made = self.made
        plan = plan_repair(made.spec, made.settings, Request(**request))
        if plan.idle:
            return None
        plan.store(made.paths)
        report = stage(made.spec, made.settings, f"stage-{plan.repair_id}", plan.repair_id)
        assert report.problem is None, report.problem
        approve(made.paths, plan.repair_id, "test")  # of rows of other fees
        swap(made.spec, made.settings.root, plan.repair_id, "test")
        return plan.repair_id

    def hold_replayed(self, repair: str) -> None:
        """Each record that the corrected spec decodes is told as DuckDB has it by the last fees."""
        sent = pa.Table.from_pylist(self.sent)
        closed = us(max(row["watermark"] for row in self.made.ops("batches") if row["watermark"]))
        rows = duckdb.sql(REPLAYED.format(closed=closed)).fetchall()
        wanted = {(part, spot): enters for part, spot, enters in rows}
        assert {*wanted.values()} == {True, False}, sent.num_rows
        told = fates(self.made.spec, self.made.settings, sorted(wanted))
        words = {True: "has put it into the rows", False: "has found that the steps leave it out"}
        for place, enters in wanted.items():
            fate = told[place]
            assert str(fate.became) == "malformed", fate
            assert f"repair {repair} {words[enters]}" in fate.used_by, fate


@pytest.mark.parametrize("seed", range(7, 27) if LONG else [7])
def test_each_fate_is_duckdbs_behind_kills_repairs_and_a_rewind(scene, tmp_path, seed):
    put(fees := Fees(name="fees", path=str(tmp_path / "fees")), 0)
    sales = Sales(scene, fees, seed)
    made = sales.made
    sales.send(45)
    made.run("one")
    put(fees, 1)
    sales.send(45)
    made.run("two")
    sales.kill()
    put(fees, 2)
    sales.send(45)
    made.run("three")
    found = sales.hold()
    wanted = {"malformed", "premature", "filtered", "late", "accepted", "duplicate"}
    assert wanted | {"accepted or duplicate"} == {*found}, found
    repair = sales.repaired()
    assert repair
    undo(made.spec, made.settings.root, repair, "test")
    sales.repaired()
    assert sales.hold() == found
    middle = Checkpoint(made.paths.checkpoint).committed()[-4]
    rewind(made.spec, made.settings, middle).execute()
    behind = sales.hold()
    assert behind["not read"] > 0
    put(fees, 3)
    made.change(max_offsets_per_batch=31)
    made.run("four")
    assert "not read" not in (found := sales.hold())
    carrier = Field(name="carrier", type="string", path=("carrier", "airline"))
    fields = (*(each for each in TOPIC.fields if each.name != "carrier"), carrier)
    before = made.spec
    made.change(topic=TOPIC.model_copy(update={"name": before.topic.name, "fields": fields}))
    replayed = sales.repaired(kind="replay")
    assert replayed
    sales.hold_replayed(replayed)
    made.spec = before  # by a changed one it cannot be told which step left a record out
    assert sales.hold() == found
