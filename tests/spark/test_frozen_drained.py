"""A root that commit 0eb87da2 has drained (tests/frozen/make_drained.py) goes on: each kind of step,
two topics, an archive, a staged repair and a rebuild that is half done. Its broker goes on, too.
"""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import deltalake
import duckdb
import pytest

from local import broker
from spark_jobs.admin.rebuild.switch import switch
from spark_jobs.ops import repairs
from spark_jobs.repair.swap import swap
from spark_jobs.storage.root.paths import Paths
from tests.frozen.drained import BOTH, FORMS, HOME, KEPT, SHIPPED, VERSIONS, World, thaw
from tests.harness import oracle
from tests.harness.broker import JARS
from tests.harness.compare import assert_same
from tests.harness.turns import alike
from tests.spark import operators, truth
from tests.spark.test_rebuild import Rebuilding
from tests.spark.test_repair import Repairs

ARCHIVE = Path(__file__).parent.parent / "frozen" / "0eb87da2.tar.xz"
GOOD = "kind IN ('good', 'duplicate')"
CHAINS = f"""
    WITH events AS (
        SELECT DISTINCT ON (tail_number, event_time, event_id) * FROM ledger
        WHERE {GOOD} AND tail_number IS NOT NULL),
    spans AS (
        SELECT *, lead(event_time) OVER chain AS valid_to FROM events
        WINDOW chain AS (PARTITION BY tail_number ORDER BY event_time, event_id))
    SELECT tail_number, event_id, event_time, valid_to, valid_to IS NULL FROM spans
    WHERE NOT cancelled
"""


@pytest.fixture(scope="module")
def world(as_submitted, tmp_path_factory) -> Iterator[World]:
    """Unpacked, with the next delivery sent."""
    folder = tmp_path_factory.mktemp("frozen")
    thaw(ARCHIVE, folder)
    kafka = broker.start(folder / HOME, JARS)
    try:
        made = World(kafka, folder)
        made.pass_over()
        made.deliver()
        yield made
    finally:
        broker.stop(folder / HOME)


def asked(world: World, sql: str) -> list[tuple]:
    with duckdb.connect() as db:
        db.sql("SET TimeZone = 'UTC'")
        for name, scene in (("ledger", world.first), ("others", world.other)):
            db.register(name, scene.ledger)
        return db.sql(sql).fetchall()


def table(world: World, name: str) -> list[dict]:
    paths = Paths(str(world.root), world.specs[name])
    return deltalake.DeltaTable(str(paths.table)).to_pyarrow_table().to_pylist()


def versions(world: World) -> None:
    names = ("tail_number", "event_id", "event_time", "valid_to", "current")
    rows = [row for row in table(world, VERSIONS.name) if not row["_sluice_deleted"]]
    found = [tuple(row[name] for name in names) for row in rows]
    assert_same(found, asked(world, CHAINS), "the versions")


def counts(world: World) -> None:
    found = [(r["topic"], r["carrier"], r["flights"]) for r in table(world, BOTH.name)]
    sql = " UNION ALL ".join(
        f"SELECT topic, carrier, count(*) FROM {name} WHERE {GOOD} GROUP BY ALL"
        for name in ("ledger", "others")
    )
    assert_same(found, asked(world, sql), "the counts")


def archived(world: World) -> None:
    found = [(row["partition"], row["offset"]) for row in table(world, KEPT.name)]
    assert_same(found, asked(world, 'SELECT "partition", "offset" FROM ledger'), "the archive")


def without_names(*of):
    """The newest event of each aircraft, as the frozen root has it."""
    return [
        {n: value for n, value in row.items() if n not in {"airline", "destination_airport"}}
        for row in oracle.aircraft_now(*of)
    ]


OTHERS = {VERSIONS.name: versions, BOTH.name: counts, KEPT.name: archived}


@pytest.mark.parametrize("name", [*SHIPPED, *FORMS, *OTHERS])
def test_a_pipeline_drains_on(world, name, monkeypatch):
    """The shipped ones, each form of an operator, a history, two topics and an archive."""
    package = "spark_jobs.pipelines" if name in SHIPPED else "tests.pipelines"
    monkeypatch.setenv("SLUICE_PIPELINES", package)
    monkeypatch.setitem(oracle.RESULTS, "aircraft_now", without_names)
    report = world.drain(name, "on")
    if name in OTHERS:
        OTHERS[name](world)
        return
    assert report.account.read > 0
    if name in SHIPPED:
        world.scenes[name].assert_exact()
    else:
        truth.hold(world.scenes[name], operators.named(name))


@alike("an older root with work half done")
def test_a_staged_repair_is_swapped_and_proved(world, monkeypatch):
    monkeypatch.setenv("SLUICE_PIPELINES", "spark_jobs.pipelines")
    scene = world.scenes["departure_delays"]
    [staged] = scene.ops("repairs")
    assert staged["state"] == "staged"
    assert swap(scene.spec, scene.settings.root, staged["repair_id"], "swap").passed
    row = repairs.one(scene.paths.root, scene.spec.name, staged["repair_id"])
    assert row is not None
    assert row["state"] == "swapped"
    if Repairs(scene).plan("repair").late:  # of the delivery, if a test before drained it here
        Repairs(scene).done()
    report, _ = Repairs(scene).done("verify", *_day(scene.table()))
    assert report.change is not None
    assert (report.change.added, report.change.removed, report.change.changed) == (0, 0, 0)


def _day(rows: list[dict]) -> tuple[datetime, datetime]:
    starts = sorted(row["window_start"] for row in rows)
    return starts[0], starts[len(starts) // 2]


@alike("an older root with work half done")
def test_a_rebuild_that_was_half_done_goes_on_and_is_switched_to(world):
    it = Rebuilding(world.scenes["miles_flown"])
    it.compute("on")
    it.drain(it.spec, "live")
    it.compute("again")
    switch(it.spec, it.next, it.root, "switch")
    assert it.rows(it.paths) == it.expected("max", it.paths)
