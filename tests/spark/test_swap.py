"""Rows that Spark staged, swapped into a pipeline's table without Spark, between two real drains."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import deltalake
import pytest
from upath import UPath

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.lease import lease
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.errors import LeaseHeld, StagingStale
from spark_jobs.repair.exchange.commit import Base, overwriting, refuse_features, replace
from spark_jobs.repair.exchange.preconditions import Claim
from spark_jobs.repair.exchange.staging import select
from spark_jobs.repair.swap import Swapped, swap
from spark_jobs.repair.undo import undo
from spark_jobs.runs.plan import plan
from spark_jobs.spec import Aggregate, Check, Transform, Tumbling
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table.delta.table import Delta
from spark_jobs.values.spans import Position, Span
from tests.harness import roots
from tests.harness.listener import Listener
from tests.harness.long_form import long_form
from tests.harness.roots import rows_of
from tests.harness.scene import Scene
from tests.harness.turns import held_by
from tests.unit.specs import pipeline

pytestmark = held_by("unit/test_swap.py", "unit/test_killed_swap.py")

Row = dict[str, Any]
Rows = list[tuple[Any, ...]]
END = Position("window_end", "end")
AT = Position("at")
MIDNIGHT = datetime(2026, 3, 1, tzinfo=UTC)
DAWN = Span(MIDNIGHT, MIDNIGHT + timedelta(hours=5))


class Repairing:
    """A drained pipeline, with a repair of two of its hours staged by Spark."""

    def __init__(self, spark: Any, scene: Scene) -> None:
        self.spark, self.scene, self.paths = spark, scene, scene.paths
        self.before = Delta(self.paths.table).version()
        ends = sorted({row["window_end"] for row in scene.table()})
        self.hours = tuple(Span(end - timedelta(hours=1), end) for end in (ends[0], ends[:4][-1]))
        staging = self.paths.staging("r1")
        live = spark.read.format("delta").load(str(self.paths.table))
        here = live.where(END.sql(self.hours)).cache()
        fields = ", ".join(
            f"'{name}', `{name}`" if name != "flights" else "'flights', flights + 1"
            for name in live.columns
        )
        here.createOrReplaceTempView("here")
        one = "SELECT *, row_number() OVER (PARTITION BY window_end ORDER BY carrier, origin) AS n FROM here"
        names = ", ".join(f"'{name}', `{name}`" for name in live.columns)
        staged = spark.sql(
            f"SELECT named_struct({names}) AS before, "
            f"IF(n = 1, named_struct({fields}), named_struct({names})) AS after, n FROM ({one})"
        ).cache()
        staged.select("after.*").write.format("delta").save(str(staging / "rows"))
        changed = staged.where("n = 1").selectExpr("'changed' AS op", "before", "after")
        changed.write.format("delta").save(str(staging / "changes"))
        told = rows_of(staging / "changes")
        self.old, self.new = (_rows([row[name] for row in told]) for name in ("before", "after"))
        within = {span.end for span in self.hours}
        self.within = _rows([row for row in scene.table() if row["window_end"] in within])
        known = read_identity(self.paths)
        roots.manifest(
            scene.spec.name,
            generation=known.generation,
            spans=self.hours,
            differing=self.hours,
            position=END,
            table_id=known.table_id,
            table_version=self.before,
            changed=2,
        ).write(staging / "manifest.json")

    def swap(self) -> Swapped:
        return swap(self.scene.spec, self.scene.settings.root, "r1", "swap")

    def undo(self) -> Swapped:
        return undo(self.scene.spec, self.scene.settings.root, "r1", "undo")

    def rows(self) -> Rows:
        return _rows(self.scene.table())

    def expected(self, rows: Rows) -> Rows:
        """The rows, with those that the repair changes."""
        assert set(self.old) <= set(rows)
        return sorted([row for row in rows if row not in self.old] + self.new, key=str)

    def feed(self, version: int) -> tuple[Rows, Rows]:
        """What the change feed of a version removes and adds, by Spark."""
        feed = (
            self.spark.read.format("delta")
            .option("readChangeFeed", "true")
            .option("startingVersion", version)
            .option("endingVersion", version)
            .load(str(self.paths.table))
        )
        told: dict[str, list[Row]] = {"delete": [], "insert": []}
        for row in feed.toArrow().to_pylist():
            content = {name: row[name] for name in row if not name.startswith("_")}
            told[row["_change_type"]].append(content)
        return _rows(told["delete"]), _rows(told["insert"])

    def published(self) -> Rows:
        return _rows(rows_of(self.paths.published_table))


def _rows(rows: list[Row]) -> Rows:
    """In an order, with times in one zone, whoever has read them."""
    return sorted((tuple(map(_utc, row.values())) for row in rows), key=str)


def _utc(value: Any) -> Any:
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def test_between_two_drains_it_is_shown_told_judged_and_gone_on_from(spark, kafka, tmp_path):
    scene = Scene(
        kafka, tmp_path, "departure_delays", events=1500, deliveries=2, stores=1, checked=True
    )
    scene.deliver()
    scene.run("first")
    listener = Listener()
    first = listener.publish(scene.paths, scene.spec)
    assert first is not None
    made = Repairing(spark, scene)
    rows = made.rows()
    done = made.swap()
    assert done.passed
    assert done.table_version == made.before + 1
    assert made.rows() == made.expected(rows)
    assert made.published() == rows, "it is not published yet"

    removed, added = made.feed(done.table_version)
    assert removed == made.within
    assert added == made.expected(made.within)

    found = plan(scene.spec, scene.settings, listener.announced)
    assert (found.reasons, found.to_publish) == ((), done.table_version), "no batch is needed"
    event = listener.publish(scene.paths, scene.spec)
    assert (event.table_version_before, event.table_version) == (made.before, done.table_version)
    assert (event.account.covered, event.account.read) == (0, 0), "no batch is new"
    [told] = event.repairs
    assert (told.repair_id, told.kind, told.changed, told.ranges) == ("r1", "repair", 2, made.hours)
    assert made.published() == made.rows()

    scene.deliver()
    report = scene.run("second")
    assert report.account.rows_out > 0
    assert report.failing("critical") == ()
    after = made.rows()
    assert set(made.expected(rows)) <= set(after)
    assert len(after) == len(rows) + report.account.rows_out
    newest = read_cursor(scene.paths.cursor).judged_table_version
    assert newest == report.table_version == Delta(scene.paths.table).version()
    event = listener.publish(scene.paths, scene.spec)
    assert event.repairs == ()
    assert event.account.rows_out == report.account.rows_out
    assert made.published() == after

    back = made.undo()
    assert back.passed
    assert made.rows() == sorted([row for row in after if row not in made.new] + made.old, key=str)
    assert made.feed(back.table_version or -1) == (made.expected(made.within), made.within)
    event = listener.publish(scene.paths, scene.spec)
    assert [told.repair_id for told in event.repairs] == ["r1/undo"]
    assert made.published() == made.rows()
    scene.assert_table()


def test_a_table_that_batches_merge_into_takes_it_and_is_merged_into_again(spark, kafka, tmp_path):
    hourly = Aggregate(
        window=Tumbling(size="1 hour"),
        keys=("carrier", "origin"),
        measures={"flights": "count(*)"},
        counts="flights",
    )
    scene = Scene(
        kafka,
        tmp_path,
        "departure_delays",
        events=1500,
        deliveries=2,
        stores=1,
        output_mode="update",
        steps=(Transform(where="event_type = 'departure'"), hourly),
    )
    scene.deliver()
    scene.run("before")
    made = Repairing(spark, scene)
    rows = made.rows()
    assert made.swap().passed
    assert made.rows() == made.expected(rows)
    scene.deliver()
    scene.run("after")
    after = made.rows()
    assert set(made.new) <= set(after)
    assert not set(made.old) & set(after)
    assert len(after) > len(rows)


def test_a_drain_and_a_swap_at_once_come_one_after_the_other(spark, delays):
    scene = delays
    made = Repairing(spark, scene)
    rows = made.rows()
    refused = []

    def swap_at_last() -> Swapped:
        while True:
            try:
                return made.swap()
            except LeaseHeld as held:
                refused.append(held)
                time.sleep(0.2)

    with ThreadPoolExecutor(1) as beside, lease(scene.paths.lease, "until the drain has begun"):
        swapping = beside.submit(swap_at_last)
        while not refused:
            time.sleep(0.05)
    report = scene.drain("second")
    while report.problem and report.problem.code == "LEASE_HELD":
        report = scene.drain("second")
    done = swapping.result(timeout=60)
    assert report.status == "succeeded"
    assert report.account.unaccounted == 0
    after = made.rows()
    assert set(made.expected(rows)) <= set(after)
    assert len(after) == len(rows) + report.account.rows_out
    assert done.passed
    assert (
        read_cursor(scene.paths.cursor).judged_table_version == Delta(scene.paths.table).version()
    )


@pytest.mark.parametrize("red", [pytest.param(False, marks=long_form), True])
def test_a_drain_judges_the_rows_of_a_swap_only_where_a_verdict_waits(red, spark, kafka, tmp_path):
    many = Check(
        type="expect_column_values_to_be_between", kwargs={"column": "flights", "max_value": 60}
    )
    none = many.model_copy(update={"kwargs": {"column": "flights", "max_value": 0}})
    scene = Scene(
        kafka,
        tmp_path,
        "departure_delays",
        events=900,
        deliveries=2,
        stores=1,
        output_checks=(none if red else many,),
    )
    scene.deliver()
    first = scene.drain("first")
    assert (first.status == "failed") == red
    made = Repairing(spark, scene)
    done = made.swap()
    assert done.passed != red
    scene.change(output_checks=(many,))
    scene.deliver()
    second = scene.run("second")
    [judged] = [check for check in second.checks if check.suite == "output" and check.column]
    assert judged.outcome == "passed"
    assert read_cursor(scene.paths.cursor).judged_table_version == second.table_version


def test_rows_behind_deletion_vectors_stay_deleted(spark, tmp_path):
    """Sluice makes tables without them; a person may turn them on."""
    paths = Paths(str(tmp_path), pipeline())
    path = UPath(str(paths.table))
    spark.sql(
        f"CREATE TABLE delta.`{path}` (at TIMESTAMP, n BIGINT) USING DELTA TBLPROPERTIES "
        "(delta.enableChangeDataFeed = true, delta.enableDeletionVectors = true)"
    )
    hour = "make_timestamp(2026, 3, 1, 0, 0, 0) + make_interval(0, 0, 0, 0, id)"
    spark.sql(f"INSERT INTO delta.`{path}` SELECT {hour}, id FROM range(0, 24, 1, 1)")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE n % 10 = 3")
    opened = deltalake.DeltaTable(str(path))
    refuse_features(Delta(UPath(path)))
    of_this = {"spans": (DAWN,), "differing": (DAWN,), "position": AT}
    manifest = roots.manifest("p", generation="g", table_version=opened.version(), **of_this)
    base = Base(Delta(UPath(path)), 1, AT, (DAWN,))
    assert base.touched()
    with pytest.raises(StagingStale):
        base.compared()
    assert base.at(2).compared().version == 2
    own = Delta(UPath(path))
    new = select(own, ["`at`", "`n` + 100 AS `n`"], AT.sql([DAWN]), own.arrow())
    with lease(UPath(path).parent / "lease", "swap") as held:
        version = replace(
            paths, base.at(2), Claim("r1", manifest, 2), overwriting(new, AT.sql([DAWN])), held
        )
    now = spark.read.format("delta").load(str(path))
    kept = [n for n in range(24) if n % 10 != 3]
    swapped = [n + 100 if n < 5 else n for n in kept]
    assert sorted(row["n"] for row in now.collect()) == sorted(swapped)
    feed = spark.read.format("delta").option("readChangeFeed", "true")
    changes = feed.option("startingVersion", version).load(str(path)).collect()
    assert sorted((row["_change_type"], row["n"]) for row in changes) == [
        *(("delete", n) for n in (0, 1, 2, 4)),
        *(("insert", n + 100) for n in (0, 1, 2, 4)),
    ]
    spark.sql(f"DELETE FROM delta.`{path}` WHERE n = 100")
    assert spark.read.format("delta").load(str(path)).count() == len(kept) - 1
