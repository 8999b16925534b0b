"""What the state checks judge, held against the state that Spark itself reads back."""

import json
from typing import Any

from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.errors import CheckFailed
from spark_jobs.runs.plan import plan
from spark_jobs.runs.publish.due import Announced
from spark_jobs.runs.publish.publication import publish
from spark_jobs.spec import State, fresh
from spark_jobs.storage.root.path_forms import state_url
from tests.harness.refused import because, has
from tests.harness.turns import held_by
from tests.spark import operators

pytestmark = held_by("unit/test_operator_metrics.py", "unit/test_run_state_metrics.py")


def test_the_timers_that_wait_are_those_in_the_store(scene, spark, monkeypatch):
    monkeypatch.setenv("SLUICE_PIPELINES", "tests.pipelines")
    made = scene(operators.named("aircraft_tours").spec, events=1500, deliveries=2)
    for number in range(2):
        made.deliver()
        report = made.run(f"run-{number}")
        reader = spark.read.format("statestore").option("readRegisteredTimers", "true")
        waiting = reader.load(state_url(made.paths.checkpoint)).count()
        assert read_cursor(made.paths.cursor).timers_waiting == waiting > 0
        [judged] = [check for check in report.checks if check.column == "timers_per_row"]
        assert round(float(judged.observed), 6) == round(waiting / report.state.rows, 6)


def test_timers_that_a_list_state_hides_are_not_guessed_at(scene):
    made = scene("aircraft_rotations", events=300, deliveries=1)
    made.deliver()
    assert made.run().state.rows > 0
    assert read_cursor(made.paths.cursor).timers_waiting is None


def test_batches_that_bring_nothing_newer_are_counted_until_one_does(scene):
    made = scene("flight_events", events=300, deliveries=2, ran="first")
    assert read_cursor(made.paths.cursor).still_batches == 0
    newest = max(
        (row for row in made.ledger.to_pylist() if row["kind"] == "good"),
        key=lambda row: row["event_time"],
    )
    fields = {name: newest[name] for name in made.spec.topic.columns}
    times = {name: fields[name].isoformat() for name in ("event_time", "scheduled_time")}
    stamp = int(newest["event_time"].timestamp() * 1000)
    for number in range(2):
        made.send(json.dumps(fields | times), timestamp=stamp)
        report = made.run(f"still-{number}")
        assert (report.account.accepted, read_cursor(made.paths.cursor).still_batches) == (
            1,
            number + 1,
        )
    made.deliver()
    made.run("newer")
    assert read_cursor(made.paths.cursor).still_batches == 0


def test_state_past_its_budget_of_rows_fails_the_run_and_past_that_of_bytes_warns(scene):
    keys = len({"EWR", "JFK", "LGA"})
    budget = State(budget_rows=keys - 1, budget_bytes=1)
    made = scene(operators.named("airport_delays").spec, events=300, deliveries=1, state=budget)
    made.deliver_all()
    report = made.drain()
    assert report.status == "failed"
    because(report.problem, CheckFailed, "state_failed", failed=has("state_rows"))
    assert {check.column: check.observed for check in report.failing("critical")} == {
        "state_rows": str(keys)
    }
    assert [check.column for check in report.failing("warning")] == ["state_bytes"]
    assert report.account.unaccounted == 0


def test_what_is_not_fresh_is_not_published_and_fails_without_a_new_record_too(drained):
    def told(*before: Any) -> Any:
        return publish(drained.paths, drained.spec, Announced(*before))

    [first] = told()
    of_2013 = (fresh("2 hours", by="event_time"),)
    drained.change(state_checks=of_2013)
    report = drained.drain("second")
    because(report.problem, CheckFailed, "state_failed", failed=has("event_age_seconds"))
    assert report.account.accepted > 0
    announced = (first.number, report.generation, first.table_version)
    assert told(*announced) == ()
    drained.change(state_checks=())
    drained.run("accepted")
    [event] = told(*announced)
    assert event.account == report.account
    assert plan(drained.spec, drained.settings).idle
    drained.change(state_checks=of_2013)
    assert not plan(drained.spec, drained.settings).idle
    report = drained.drain("nothing new")
    because(report.problem, CheckFailed, "state_failed", failed=has("event_age_seconds"))
    assert report.account.read == 0
    assert told(event.number, report.generation, event.table_version) == ()
