"""A table whose files lie by day, and then by airport: drained, repaired and rebuilt, its rows are
DuckDB's; a repair leaves the other days' files alone.
"""

from typing import Any

import deltalake
import duckdb
import pytest

from spark_jobs.admin.rebuild.beside import begin
from spark_jobs.admin.rebuild.switch import switch
from spark_jobs.errors import TableChanged
from spark_jobs.messages.request import Request
from spark_jobs.repair.manifest import approve
from spark_jobs.repair.planner import plan_repair
from spark_jobs.repair.stage import stage
from spark_jobs.repair.swap import swap
from spark_jobs.runs.drain import drain
from spark_jobs.runs.plan import plan
from spark_jobs.spec import Aggregate, Layout, Pipeline, Ranges, State, Transform
from spark_jobs.table.delta.care_steps import put_in_order
from spark_jobs.table.delta.delta_log import Log
from spark_jobs.table.delta.table import Delta
from tests.e2e.changed.miles_flown.spec import HOURS, SPEC
from tests.harness.listener import Listener
from tests.harness.long_form import long_form
from tests.harness.refused import fails
from tests.harness.scene import Scene
from tests.harness.turns import alike
from tests.spark.miles import Rows, miles_by_hour

BY_DAY = SPEC.model_copy(
    update={
        "steps": (HOURS, Transform(sql="SELECT *, date(window_start) AS day FROM rows")),
        "ranges": Ranges(by="window_start"),
        "layout": Layout(partition_by=("day",), cluster_by=("origin",)),
    }
)
BY_AIRPORT = BY_DAY.model_copy(
    update={
        "layout": Layout(cluster_by=("origin",), properties={"delta.targetFileSize": "32mb"}),
        "state": SPEC.state.model_copy(update={"version": 2}),
    }
)


def rows(path: Any) -> Rows:
    found = deltalake.DeltaTable(str(path)).to_pyarrow_table().to_pylist()
    return sorted(
        (each["window_start"], each["origin"], each["flights"], each["miles"]) for each in found
    )


def expected(made: Scene) -> Rows:
    return miles_by_hour(made.ledger, "sum", made.paths.checkpoint)


def repair(made: Scene) -> None:
    asked = Request(kind="repair", who="tester")
    planned = plan_repair(made.spec, made.settings, asked)
    planned.store(made.paths)
    report = stage(made.spec, made.settings, planned.repair_id, planned.repair_id)
    assert report.status == "succeeded", report.problem
    approve(made.paths, planned.repair_id, "tester")  # behind SQL no group explains a change
    swap(made.spec, made.settings.root, planned.repair_id, "swap")


def touched(path: Any, version: int) -> list[set[str]]:
    """The days of the files that a commit removes and adds."""
    actions = Log.of(path).commit(version)
    return [
        {each[of]["partitionValues"]["day"] for each in actions if of in each}
        for of in ("remove", "add")
    ]


@long_form
def test_a_parted_table_is_drained_repaired_and_rebuilt_as_duckdb_has_it(scene):
    made = scene(BY_DAY, events=6000, deliveries=5, max_offsets_per_batch=1500)
    for _ in range(4):
        made.deliver()
    made.run("live-1")
    before, version = rows(made.paths.table), Delta(made.paths.table).version()
    assert before != expected(made)

    repair(made)
    whole = expected(made)
    assert rows(made.paths.table) == whole
    differ = {f"{row[0]:%F}" for row in {*before} ^ {*whole}}
    every = {f"{row[0]:%F}" for row in whole}
    swapped = version + 1
    assert touched(made.paths.table, swapped) == [differ & {f"{r[0]:%F}" for r in before}, differ]
    assert differ < every

    put_in_order(made.paths.table, ("origin",))
    assert rows(made.paths.table) == whole
    listener = Listener()
    listener.publish(made.paths, made.spec)
    published = made.paths.published_table
    assert rows(published) == whole
    assert deltalake.DeltaTable(str(published)).metadata().partition_columns == ["day"]

    same_version = BY_AIRPORT.model_copy(update={"state": SPEC.state, "topic": made.spec.topic})
    with fails(TableChanged, "parted_otherwise", has="day"):
        plan(same_version, made.settings)
    following = BY_AIRPORT.model_copy(
        update={
            "topic": made.spec.topic,
            "output_checks": (),
            "state_checks_off": made.spec.state_checks_off,
        }
    )
    begin(made.paths, following, "", "tester")
    report = drain(following, made.settings._replace(next="on"), "beside")
    assert report.status == "succeeded", report.problem
    switch(made.spec, following, made.settings.root, "switch")
    made.spec = following
    made.deliver()
    made.run("live-2")
    assert rows(made.paths.table) != expected(made)
    repair(made)
    assert rows(made.paths.table) == expected(made)
    made_so = deltalake.DeltaTable(str(made.paths.table)).metadata()
    assert made_so.partition_columns == []
    assert made_so.configuration["delta.targetFileSize"] == "32mb"
    listener.publish(made.paths, made.spec)
    assert rows(published) == rows(made.paths.table)


BY_DAY_AND_AIRPORT = Pipeline(
    name="flown_by_day",
    about="Miles by day and airport, in folders by day.",
    topic=SPEC.topic,
    steps=(
        Transform(sql="SELECT *, date(event_time) AS day FROM rows"),
        Aggregate(
            keys=("day", "origin"),
            measures={"flights": "count(*)", "miles": "sum(distance_miles)"},
            counts="flights",
        ),
    ),
    state=State(budget_rows=100_000),
    layout=Layout(partition_by=("day",)),
    output_mode="update",
)


@alike("a parted table")
@pytest.mark.parametrize("mode", ["update", "complete"])
def test_a_parted_table_whose_rows_are_merged_or_written_anew_is_duckdbs(scene, mode):
    made = scene(BY_DAY_AND_AIRPORT, events=3000, deliveries=3, output_mode=mode)
    for number in range(3):
        made.deliver()
        made.run(f"{number}")
        found = deltalake.DeltaTable(str(made.paths.table)).to_pyarrow_table().to_pylist()
        with duckdb.connect() as db:
            db.sql("SET TimeZone = 'UTC'")
            db.register("ledger", made.ledger)
            wanted = db.sql(
                """SELECT event_time::DATE, origin, count(*), sum(distance_miles)::BIGINT FROM ledger
                WHERE kind IN ('good', 'duplicate') GROUP BY 1, 2 ORDER BY 1, 2"""
            ).fetchall()
        assert sorted((r["day"], r["origin"], r["flights"], r["miles"]) for r in found) == wanted
    folders = {each.name for each in made.paths.table.iterdir() if each.name.startswith("day=")}
    assert folders == {f"day={day}" for day, *_ in wanted}
