"""A field that a running pipeline's topic gets: the table gets its column, killed there or not, and
drains, publication, repairs, their undoing and a verify go on. DuckDB says what the rows are.
"""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from local import broker
from spark_jobs.admin.doctor import doctor
from spark_jobs.admin.rebuild.beside import begin
from spark_jobs.admin.rebuild.switch import switch
from spark_jobs.checkpoint.notes.live import refuse_dead
from spark_jobs.repair.undo import undo
from spark_jobs.runs.drain import drain
from spark_jobs.runs.explain import deep
from spark_jobs.runs.plan import plan
from spark_jobs.spec import Archive, Check, Deduplicate, Field, Pipeline, Topic
from spark_jobs.storage import failpoint
from spark_jobs.table.published import table as published_table
from tests.harness.compare import assert_same
from tests.harness.scene import Scene
from tests.harness.turns import alike
from tests.spark.test_maintain import maintained
from tests.spark.test_published_table import by_duckdb
from tests.spark.test_rebuild import ends, live_and_archive, retention_takes
from tests.spark.test_repair import Repairs

pytestmark = alike("a field more")

DAY = datetime(2026, 3, 1, tzinfo=UTC)
FIELDS = (
    Field(name="id", type="string", path="saleId"),
    Field(name="at", type="timestamp"),
    Field(name="price", type="decimal(8,2)", required=False),
)
COUPON = Field(name="coupon", type="struct<code:string,off:bigint>", required=False)
NOT_NULL = Check(type="expect_column_values_to_not_be_null", kwargs={"column": "id"})
Sale = dict[str, Any]


class Sales:
    """A topic of sales, each of which has a coupon or none, declared or not."""

    def __init__(self, kafka: str, folder: Path) -> None:
        topic = Topic(name="sales", event_time="at", fields=FIELDS, archive=Archive(keep=None))
        spec = Pipeline(
            name="sales",
            about="Each sale once.",
            topic=topic,
            watermark_delay="1 hour",
            steps=(Deduplicate(keys=("id",)),),
            output_checks=(NOT_NULL,),
        )
        self.made = Scene(kafka, folder, spec, stores=1, partitions=2, checked=True)
        self.sent: list[tuple[Sale, bool]] = []
        """With whether the coupon is declared by the time at which it is drained."""
        self._numbers = iter(range(10_000))
        broker.create_topic(kafka, self.made.topic, 2)

    def send(self, day: int, records: int = 60, *, declared: bool) -> None:
        made = [self._sale(next(self._numbers), day) for _ in range(records)]
        self.sent += [(sale, declared) for sale in made]
        self.made.send(*map(json.dumps, made))

    def declare(self, *fields: Field) -> None:
        topic = self.made.spec.topic.model_copy(update={"fields": (*FIELDS, *fields)})
        self.made.change(topic=topic)

    def publish(self) -> None:
        report = self.made.ops("runs", "table_version")
        published_table.move(
            self.made.paths, max(row["table_version"] or 0 for row in report), refuse_dead
        )

    def wanted(self, *, late: bool) -> list[tuple[Any, ...]]:
        """What DuckDB reads of the records: those that came in time, or all."""
        text = [json.dumps(sale) for sale, _ in self.sent]
        given = {"text": text, "declared": [declared for _, declared in self.sent]}
        with duckdb.connect() as db:
            db.sql("SET timezone = 'UTC'")
            db.register("given", pa.table(given))
            last = "max(made_at) OVER (ORDER BY n ROWS UNBOUNDED PRECEDING)"
            found = db.sql(f"""
                WITH sales AS (
                    SELECT j->>'$.saleId' AS id, (j->>'$.at')::timestamptz::timestamp AS made_at,
                           (j->'$.price')::decimal(8,2) AS price,
                           CASE WHEN declared AND json_type(j->'$.coupon') = 'OBJECT'
                                THEN {{'code': j->>'$.coupon.code', 'off': (j->'$.coupon.off')::bigint}} END AS coupon,
                           n
                    FROM (SELECT text::json AS j, declared, row_number() OVER () AS n FROM given))
                SELECT id, made_at, price, coupon FROM
                    (SELECT *, {last} - INTERVAL 12 HOUR AS oldest FROM sales)
                WHERE {late} OR made_at >= oldest""").fetchall()
        return sorted(tuple(map(_plain, row)) for row in found)

    def rows(self) -> list[tuple[Any, ...]]:
        found = [{"coupon": None, **row} for row in self.made.table()]
        names = ("id", "at", "price", "coupon")
        return sorted(tuple(_plain(row[name]) for name in names) for row in found)

    def _sale(self, n: int, day: int) -> Sale:
        at = DAY + timedelta(days=day, hours=12, minutes=n % 60)
        coupon = {"code": f"c{n % 7}", "off": n} if n % 3 else None
        return {"saleId": f"s{n:04}", "at": at.isoformat(), "price": n / 4, "coupon": coupon}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    return repr(value) if isinstance(value, dict | None) else value


@pytest.fixture
def sales(kafka, tmp_path) -> Sales:
    return Sales(kafka, tmp_path)


def test_a_field_more_adds_its_column_and_everything_goes_on_after_a_kill_at_it(sales, monkeypatch):
    sales.send(0, declared=False)
    sales.send(1, declared=False)
    [told] = sales.made.run("first").new_keys
    assert (told.path, told.kinds, told.records) == ("coupon", ("null", "object"), 120)
    sales.publish()
    sales.send(0, 6, declared=False)  # late, and in the table before there is a column
    assert sales.made.run("late of the old spec").new_keys == (), "it is told once"
    proposed = "Field(name='coupon', type='string', format='json', required=False),"
    assert proposed in "\n".join(plan(sales.made.spec, sales.made.settings).lines)
    before, _ = Repairs(sales.made).done()
    assert_same(sales.rows(), sales.wanted(late=True), "repaired by the old spec")
    sales.send(2, declared=True)
    sales.declare(COUPON)
    assert next(iter(deep(sales.made.spec, sales.made.settings))).startswith("ok")
    with monkeypatch.context() as killed:
        killed.setitem(failpoint.ACTIVE, "columns.added", "raise")
        assert sales.made.drain("killed").status == "failed"
    assert {row["coupon"] for row in sales.made.table()} == {None}
    second = sales.made.run("second")
    assert (second.account.rows_out, second.new_keys) == (60, ())
    assert proposed not in "\n".join(plan(sales.made.spec, sales.made.settings).lines)
    assert_same(sales.rows(), sales.wanted(late=True), "drained by the new spec")
    sales.publish()
    assert len(by_duckdb(sales.made.paths.published_table)) == len(sales.rows())

    undo(sales.made.spec, sales.made.settings.root, before.repair_id, "undo")
    sales.made.run("judges the undo")
    assert_same(sales.rows(), sales.wanted(late=False), "the old repair undone")
    sales.send(0, 9, declared=True)
    sales.made.run("late of the new spec")
    report, swapped = Repairs(sales.made).done()
    assert (report.change.unexplained, report.change.rounded, report.change.added) == (0, 0, 15)
    assert swapped is not None
    # What was late by the old spec is read by the new one now.
    sales.sent = [
        (sale, declared or 120 <= n < 126) for n, (sale, declared) in enumerate(sales.sent)
    ]
    assert_same(sales.rows(), sales.wanted(late=True), "repaired by the new spec")
    verified, _ = Repairs(sales.made).done("verify", DAY, DAY + timedelta(days=2))
    assert (verified.change.differs, verified.change.rows_before) == (0, 135)
    assert {row["unaccounted"] for row in sales.made.ops("batches")} == {0}


def test_archive_doctor_maintain_and_a_rebuild_go_on_across_it(sales):
    made = sales.made
    sales.send(0, declared=False)
    live_and_archive(made, "first")
    sales.declare(COUPON)
    sales.send(1, declared=True)
    live_and_archive(made, "second")
    assert doctor(made.spec, made.settings).execute is None
    maintained(made)
    assert_same(sales.rows(), sales.wanted(late=False), "behind doctor and maintain")

    state = made.spec.state.model_copy(update={"version": 2})
    old, new = made.spec, made.spec.model_copy(update={"state": state})
    begin(made.paths, new, "", "tester")
    assert drain(new, made.settings._replace(next="on"), "rebuild").problem is None
    switch(old, new, made.settings.root, "switch")
    made.change(state=state)
    sales.sent = [(sale, True) for sale, _ in sales.sent]
    assert_same(sales.rows(), sales.wanted(late=False), "rebuilt")
    retention_takes(made, ends(made))
    sales.send(2, declared=True)
    made.run("third")
    verified, _ = Repairs(made).done("verify", DAY, DAY + timedelta(days=2))
    assert (verified.change.differs, verified.change.rows_before) == (0, 120), "by the archive"
