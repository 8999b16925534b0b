"""A chain of pipelines: hours of sales, their days, the weeks of those. What is mended at the top is
mended below, and the last table is one query over the records.
"""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest

from spark_jobs.admin.accept import accept
from spark_jobs.admin.care import MARGIN, needed
from spark_jobs.admin.rewind import rewind
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.noted_versions import noted_now
from spark_jobs.registry import find as registry
from spark_jobs.repair.find.ranges_due import touched, untried
from spark_jobs.repair.undo import undo
from spark_jobs.runs.plan import plan
from spark_jobs.storage.root.path_forms import spark_url
from spark_jobs.table.delta.delta_log import Log
from tests.harness.listener import Listener
from tests.harness.scene import Scene
from tests.harness.turns import alike
from tests.seams.test_source import put
from tests.spark.test_repair import Repairs

pytestmark = alike("a topic that is no broker's")

HOURS = """
from datetime import timedelta
from spark_jobs.spec import Aggregate, Check, Field, Pipeline, Tumbling
from tests.seams.test_source import AMOUNT, SHOP, Rows

SPEC = Pipeline(
    name="hours",
    about="sales of an hour",
    topic=Rows(
        name="rows", folder={folder!r}, event_time="at", max_ahead="90 days",
        fields=(Field(name="at", type="timestamp", required=True), SHOP, AMOUNT),
    ),
    watermark_delay="1 hour",
    steps=(Aggregate(window=Tumbling(size="1 hour"), keys=("shop",), counts="sales",
                     measures={{"sales": "count(*)", "sum": "sum(amount)"}}),),
    output_checks=(Check(type="expect_column_values_to_be_between",
                         kwargs={{"column": "sum", "max_value": 1000}}),),
)
"""
SUMS = """
from spark_jobs.spec import Aggregate, Pipeline, Table, Tumbling

SPEC = Pipeline(
    name={name!r},
    about="sums of sums",
    topic=Table(of={of!r}, event_time="window_start"),
    watermark_delay="1 hour",
    steps=(Aggregate(window=Tumbling(size={size!r}), keys=("shop",),
                     measures={{"rows": "count(*)", "sales": "sum(sales)", "sum": "sum(sum)"}}),),
)
"""
CANONICAL = """
    SELECT * FROM (
        SELECT time_bucket(INTERVAL {size}, "at", TIMESTAMPTZ '2026-01-01 00:00:00Z') AS start,
               shop, count(*)::BIGINT AS sales, sum(amount)::BIGINT AS total
        FROM read_parquet('{folder}/*.parquet') WHERE amount IS NOT NULL GROUP BY 1, 2
    ) WHERE start + INTERVAL {size} <= $until ORDER BY ALL
"""


class Chain(NamedTuple):
    """The three, and what feeds them."""

    folder: Path
    scenes: dict[str, Scene]
    listeners: dict[str, Listener]

    def run(self, *names: str, publishes: bool = True) -> None:
        for name in names or (*self.scenes,):
            self.scenes[name].run()
            if publishes:
                self.publish(name)

    def publish(self, name: str) -> None:
        made = self.scenes[name]
        self.listeners[name].publish(made.paths, made.spec)

    def repair(self, name: str) -> str:
        """Without a person. Gives its id."""
        repairs = Repairs(self.scenes[name])
        staged = repairs.stage(found := repairs.plan())
        assert staged.problem is None, (staged.problem, found.lines)
        assert (staged.change.unexplained, staged.change.unaccounted) == (0, 0)
        repairs.swap(found)
        self.publish(name)
        return found.repair_id

    def mend(self, *names: str) -> None:
        """What is known above is noted, and repaired."""
        for name in names:
            self.run(name)
            if touched(self.scenes[name].spec, self.scenes[name].paths).ranges:
                self.repair(name)

    def rows(self, name: str) -> list[tuple[Any, ...]]:
        found = self.scenes[name].table()
        return sorted((r["window_start"], r["shop"], r["sales"], r["sum"]) for r in found)

    def canonical(self, size: str, name: str) -> list[tuple[Any, ...]]:
        """By DuckDB, of all records, up to where the pipeline's windows are closed."""
        made = self.scenes[name]
        batches = [row for row in made.ops("batches") if row["pipeline"] == name]
        until = max(row["watermark"] for row in batches if row["watermark"])
        sql = CANONICAL.format(size=size, folder=self.folder)
        db = duckdb.connect()
        db.execute("SET TimeZone = 'UTC'")
        found = db.execute(sql, {"until": until}).fetchall()
        return [(start.astimezone(UTC), *rest) for start, *rest in found]

    def exact(self) -> None:
        for name, size in (("hours", "1 HOUR"), ("days", "1 DAY"), ("weeks", "7 DAYS")):
            assert self.rows(name) == self.canonical(size, name), name


@pytest.fixture
def chain(tmp_path, monkeypatch, spark) -> Chain:
    (folder := tmp_path / "rows").mkdir()
    package = tmp_path / f"sold_{uuid.uuid4().hex[:8]}"  # what is imported stays so
    texts = {
        "hours": HOURS.format(folder=str(folder)),
        "days": SUMS.format(name="days", of="hours", size="1 day"),
        "weeks": SUMS.format(name="weeks", of="days", size="7 days"),
    }
    for name, text in texts.items():
        (package / name).mkdir(parents=True)
        (package / name / "spec.py").write_text(text)
        (package / name / "__init__.py").touch()
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("SLUICE_PIPELINES", package.name)
    scenes = {
        name: Scene(
            "no.broker:9", tmp_path, name, topic=registry.load(name).topic.name, stores=1,
            checked=True,
        )
        for name in texts
    }  # fmt: skip
    return Chain(folder, scenes, {name: Listener() for name in texts})


FIRST = [(0, "a", 1), (0, "b", 2), (5, "a", 3), (30, "a", 4), (200, "b", 1)]
LATE = [(3, "a", 10), (210, "a", 5), (400, "a", 7)]
"""The first is late at the top."""


def streamed(spark: Any, folder: Any) -> int:
    """What a plain stream over the published table has summed up by now: one that passes over what
    is replaced, since another one ends there.
    """
    reader = spark.readStream.format("delta").option("skipChangeCommits", "true")
    writer = reader.load(spark_url(folder)).writeStream.format("parquet")
    kept = folder.parent.parent.parent / "naive"
    writer = writer.option("checkpointLocation", f"{kept}/checkpoint").trigger(availableNow=True)
    writer.start(f"{kept}/rows").awaitTermination()
    found: int = spark.read.parquet(f"{kept}/rows").agg({"sum": "sum"}).first()[0]
    return found


def test_a_late_record_is_mended_from_the_top_to_the_last_table(chain, spark):
    put(chain.folder, "1", FIRST)
    chain.run()
    chain.exact()
    published = chain.scenes["hours"].paths.published_table
    plain = streamed(spark, published)
    put(chain.folder, "2", LATE)
    chain.run()
    assert chain.rows("hours") != chain.canonical("1 HOUR", "hours")
    mended = chain.repair("hours")
    days = chain.scenes["days"]
    found = plan(days.spec, days.settings)
    assert not found.idle, "what was replaced starts a run"
    days.run("notes it")
    assert untried(days.spec, days.paths), "the DAG repairs it behind its drain"
    chain.mend("days", "weeks")
    chain.exact()
    whole = sum(total for *_, total in chain.canonical("1 HOUR", "hours"))
    assert plain < streamed(spark, published) == whole - 10, "a plain stream lacks the late one"
    undo(chain.scenes["hours"].spec, days.settings.root, mended, "undo")
    chain.publish("hours")
    chain.mend("days", "weeks")
    assert chain.rows("days") != chain.canonical("1 DAY", "days"), "the undo is followed"
    chain.repair("hours")
    chain.mend("days", "weeks")
    chain.exact()
    assert plan(days.spec, days.settings).idle
    begins = datetime(2026, 1, 1, tzinfo=UTC)
    assert Repairs(days).plan("backfill", begins, begins.replace(hour=9)).idle, "no day ends there"


def test_a_failed_check_stops_what_follows_until_it_is_mended(chain):
    put(chain.folder, "1", FIRST)
    chain.run()
    put(chain.folder, "2", [(201, "a", 5000), (300, "b", 1)])
    hours, days = chain.scenes["hours"], chain.scenes["days"]
    failed = hours.drain("failed")
    assert failed.problem is not None
    assert failed.problem.code == "CHECK_FAILED"
    chain.publish("hours")
    before = chain.rows("days")
    found = plan(days.spec, days.settings)
    assert found.idle
    assert any("hours holds back" in line for line in found.lines)
    days.run("in vain")
    assert chain.rows("days") == before
    names = [each.name for each in failed.checks if each.outcome == "failed"]
    accept(hours.spec, hours.settings, tuple(names), "right as it is", "ana").execute()
    chain.publish("hours")
    put(chain.folder, "3", [(400, "a", 1)])
    chain.run("hours")
    chain.mend("days", "weeks")
    chain.exact()


def test_a_drain_and_a_repair_in_one_publish_and_a_rewind(chain):
    put(chain.folder, "1", FIRST)
    chain.run()
    put(chain.folder, "2", LATE)
    chain.run("hours", publishes=False)
    hours = chain.scenes["hours"]
    Repairs(hours).done()
    put(chain.folder, "3", [(405, "b", 2), (600, "a", 1)])
    chain.run("hours")
    pin = noted_now(Checkpoint(chain.scenes["days"].paths.checkpoint), chain.scenes["days"].spec)
    [commit, *_] = Log.of(hours.paths.published_table).commit(pin["hours"].version)
    first = commit["commitInfo"]["timestamp"]
    since = needed(hours.paths, datetime.now(UTC)).since
    assert since is not None
    assert (since + MARGIN).timestamp() * 1000 == first, "what days has not read stays"
    chain.mend("days", "weeks")
    chain.exact()
    rewind(hours.spec, hours.settings, 0).execute()
    chain.mend("hours", "days", "weeks")
    chain.exact()
