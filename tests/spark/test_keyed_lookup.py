"""Tables that follow a key, with columns that are looked up: which of them a correction touches, and
that a repair mends them, by DuckDB over the records and the table beside the stream.
"""

import json
from datetime import UTC, datetime, timedelta
from random import Random

import deltalake
import duckdb
import pyarrow as pa
import pytest

from local import broker
from spark_jobs.messages.request import Request
from spark_jobs.prove.covered import covered
from spark_jobs.repair.find.ranges_due import untried
from spark_jobs.repair.manifest import approve
from spark_jobs.repair.planner import plan_repair
from spark_jobs.repair.stage import stage
from spark_jobs.repair.undo import undo
from spark_jobs.spec import Dimension, Field, History, Latest, Lookup, Pipeline, Topic
from spark_jobs.storage import failpoint
from spark_jobs.values.own_columns import DELETED
from tests.harness.compare import assert_same
from tests.harness.crash import Images, over
from tests.harness.scene import Scene
from tests.harness.turns import alike
from tests.spark.test_repair import Repairs

pytestmark = alike("what a correction touches")

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
UTC_TIME = pa.timestamp("us", "UTC")
SALES = Topic(
    name="sales",
    event_time="sold_at",
    fields=(
        Field(name="id", type="string"),
        Field(name="seq", type="bigint"),
        Field(name="sold_at", type="timestamp"),
        Field(name="shop", type="string", required=False),
        Field(name="amount", type="bigint", required=False),
        Field(name="gone", type="boolean"),
    ),
)
BY = {"keys": ("id",), "order_by": ("seq",)}
FORMS = {
    "latest": ({}, Latest(deletes="gone", **BY)),
    "history": ({}, History(deletes="gone", valid_from="sold_at", **BY)),
    "partial": ({}, Latest(missing="keep", **BY)),
    "rejected": ({"missing": "quarantine"}, Latest(deletes="gone", **BY)),
    "kept": ({}, Latest(deletes="gone", **BY)),
}
SOLD = pa.schema(
    {"batch": pa.int64(), "id": pa.string(), "seq": pa.int64(), "sold_at": UTC_TIME, "shop": pa.string(),
     "amount": pa.int64(), "gone": pa.bool_()}
)  # fmt: skip
KNOWN = pa.schema(
    {"version": pa.int64(), "shop": pa.string(), "since": UTC_TIME, "until": UTC_TIME, "city": pa.string()}
)  # fmt: skip
FOUND = """
    SELECT d.*, k.city, k.shop IS NOT NULL AS found FROM sold d LEFT JOIN known k ON k.shop = d.shop
    AND k.version = {version} AND coalesce(k.since <= d.sold_at, true) AND coalesce(d.sold_at < k.until, true)"""
NEWEST = "QUALIFY row_number() OVER (PARTITION BY id ORDER BY seq DESC) = 1"
LATEST = (
    f"SELECT id, seq, sold_at, shop, amount, city FROM (SELECT * FROM j {NEWEST}) WHERE NOT gone"
)
ROWS = {
    "latest": LATEST,
    "history": """
        SELECT id, seq, sold_at, shop, amount, city, sold_at AS valid_from, ends AS valid_to, ends IS NULL AS current
        FROM (SELECT *, lead(sold_at) OVER (PARTITION BY id ORDER BY seq) AS ends FROM j) WHERE NOT gone""",
    "partial": """
        SELECT id, max(seq) AS seq, max(sold_at) AS sold_at, arg_max(shop, seq) AS shop,
               arg_max(amount, seq) AS amount, arg_max(city, seq) AS city FROM j GROUP BY id""",
    "rejected": LATEST.replace("FROM j", "FROM j WHERE was AND found"),
    "kept": LATEST,
}


def shops(version: int) -> list[dict]:
    """B and the first half of C are corrected by each version, D goes, F comes."""
    at = NOON + timedelta(minutes=50)
    rows = [
        ("A", None, None, "Aachen"), ("B", None, None, f"Bonn {version}"),
        ("C", None, at, f"Celle {version}"), ("C", at, None, "Cottbus"), ("E", None, at, "Essen"),
    ]  # fmt: skip
    rows += [("D", None, None, "Dresden")] if version < 2 else []
    rows += [("F", None, None, "Fulda")] if version else []
    return [
        {"version": version, "shop": shop, "since": since, "until": until, "city": city}
        for shop, since, until, city in rows
    ]


class World:
    """A table that follows a key, the records that were sent, and the shops."""

    def __init__(self, kafka, folder, form: str) -> None:
        lookup, follows = FORMS[form]
        self.form, self.place, self.sold = form, str(folder / "shops"), []
        self.correct(0)
        known = Dimension(
            table=self.place,
            key=("shop",),
            valid=("since", "until"),
            fields=(Field(name="city", type="string"),),
            corrections="keep" if form == "kept" else "mend",
        )
        steps = (Lookup(dimension=known, on={"shop": "shop"}, **lookup), follows)
        spec = Pipeline(name=f"sales_{form}", about="Sales.", topic=SALES, steps=steps)
        self.made = Scene(kafka, folder, spec, stores=1)
        broker.create_topic(kafka, self.made.topic, self.made.partitions)

    def correct(self, version: int) -> None:
        rows = pa.Table.from_pylist(shops(version), KNOWN)
        deltalake.write_deltalake(self.place, rows, mode="overwrite")

    def sell(self, batch: int) -> None:
        draw = Random(batch)
        for number in range(60):
            seq = batch * 100 + number
            whole = self.form != "partial"
            row = {
                "id": f"s{draw.randrange(120)}",
                "seq": seq,
                "sold_at": NOON + timedelta(minutes=seq),
                "shop": draw.choice("ABCDEFG") if whole or draw.random() < 0.6 else None,
                "amount": draw.randrange(9) if whole or draw.random() < 0.6 else None,
                "gone": whole and draw.random() < 0.1,
            }
            self.sold.append({"batch": batch, **row})
            self.made.send(json.dumps(row, default=datetime.isoformat), partition=draw.randrange(4))

    def rows(self, *versions: int, accepted: tuple[int, ...] = ()) -> list[tuple]:
        """By the version of each record's batch; by the last one for all, if there is one alone."""
        joined = [
            f"SELECT * FROM ({FOUND.format(version=of)}) WHERE {'true' if len(versions) == 1 else f'batch = {batch}'}"
            for batch, of in enumerate(versions)
        ]
        was = " OR ".join(
            f"EXISTS (FROM ({FOUND.format(version=of)}) w WHERE w.found AND w.seq = q.seq AND q.batch = {batch})"
            for batch, of in enumerate(accepted or versions)
        )
        with duckdb.connect() as db:
            db.sql("SET TimeZone = 'UTC'")
            db.register("sold", pa.Table.from_pylist(self.sold, SOLD))
            every = [row for version in range(3) for row in shops(version)]
            db.register("known", pa.Table.from_pylist(every, KNOWN))
            db.sql(
                f"CREATE VIEW j AS SELECT q.*, {was} AS was FROM ({' UNION ALL '.join(joined)}) q"
            )
            return told(db.sql(ROWS[self.form]).to_arrow_table().to_pylist())

    def hold(self, wanted: list[tuple], what: str, made: Scene | None = None) -> None:
        found = [row for row in (made or self.made).table() if not row[DELETED]]
        names = [name for name in found[0] if not name.startswith("_sluice") and name != "gone"]
        assert_same(told([{n: row[n] for n in names} for row in found]), wanted, what)


def told(rows: list[dict]) -> list[tuple]:
    return [tuple(str(row[name]) for name in sorted(row)) for row in rows]


@pytest.mark.parametrize("form", [form for form in FORMS if form != "kept"])
def test_a_correction_marks_rows_of_its_keys_and_a_repair_mends_them_wherever_it_is_killed(
    kafka, tmp_path, monkeypatch, form
):
    world = World(kafka, tmp_path, form)
    made, repairs = world.made, Repairs(world.made)
    world.sell(0)
    made.run("first")
    assert repairs.plan().idle
    world.correct(1)
    world.sell(1)
    with monkeypatch.context() as at:
        at.setattr(failpoint, "at", (images := Images(made, tmp_path / "images")).at)
        made.run("second")
    world.hold(world.rows(0, 1), "by the pins")
    assert untried(made.spec, made.paths) > 0
    for moment in (("marked", 0), ("table.committed", 1)):
        killed = over(made, images.taken[moment])
        killed.run("resumed")
        assert Repairs(killed).plan().spans
    world.correct(2)
    world.sell(2)
    made.run("third")
    before = world.rows(0, 1, 2)
    world.hold(before, "by the pins of three batches")
    states = {each.state for each in covered(made.spec, made.paths).intervals}
    assert "outdated" in states
    plan = repairs.plan()
    assert bool(plan.parts) == (form in {"partial", "rejected"}), plan.lines
    staged = repairs.stage(plan)
    assert staged.problem is None, staged.problem
    assert (staged.change.unexplained, staged.change.unaccounted) == (0, 0)
    assert staged.change.differs > 0
    if form != "partial":  # whose rows are of several changes: a drain between refuses the swap
        world.sell(3)
        made.run("fourth")
    approve(made.paths, plan.repair_id, "tester")
    with monkeypatch.context() as at:
        images = Images(made, tmp_path / "swap")
        at.setattr(failpoint, "at", lambda of: images.at(of) if of.startswith("swap.") else None)
        repairs.swap(plan)
    wanted = world.rows(2, accepted=(0, 1, 2, 2))
    world.hold(wanted, "after the repair")
    for moment, image in images.taken.items():
        killed = over(made, image)
        Repairs(killed).swap(plan)
        world.hold(wanted, f"killed at {moment}", killed)
        assert Repairs(killed).plan().idle
    assert repairs.plan().idle
    assert untried(made.spec, made.paths) == 0
    states = {each.state for each in covered(made.spec, made.paths).intervals}
    assert states == {"replayable" if form == "rejected" else "canonical"}
    undo(made.spec, made.settings.root, plan.repair_id, "undo")
    assert untried(made.spec, made.paths) == 0, "a person took it back"
    again = repairs.stage(repairs.plan())
    assert 0 < again.change.differs <= staged.change.differs


def test_what_rows_keep_is_neither_marked_nor_compared_by_a_verify(kafka, tmp_path):
    world = World(kafka, tmp_path, "kept")
    made = world.made
    for version in range(3):
        world.correct(version)
        world.sell(version)
        made.run(f"run {version}")
    world.hold(world.rows(0, 1, 2), "by the pins")
    assert world.rows(0, 1, 2) != world.rows(2)
    assert (made.ops("outdated"), Repairs(made).plan().idle) == ([], True)
    plan, change = verified(made)
    assert any("city" in line for line in plan.lines if line.startswith("  not compared"))
    assert (change.differs, change.rounded) == (0, 0)
    [lookup, follows] = made.spec.steps
    mends = lookup.dimension.model_copy(update={"corrections": "mend"})
    made.change(steps=(lookup.model_copy(update={"dimension": mends}), follows))
    assert verified(made)[1].differs > 0


def verified(made: Scene):
    request = Request(kind="verify", who="test", keys="true")
    plan = plan_repair(made.spec, made.settings, request)
    plan.store(made.paths)
    return plan, stage(made.spec, made.settings, "verify", plan.repair_id, kind="verify").change
