"""Batches without data that Sluice plans: what is due leaves the state, nothing is made up."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from spark_jobs.checkpoint import no_data_batch
from spark_jobs.runs.plan import plan
from spark_jobs.spec.analysis.state_checks import REJECTIONS
from tests.harness import replay
from tests.harness.turns import alike
from tests.harness.verifier import ENTERS
from tests.spark import edges, truth

pytestmark = alike("a run without data")

SPARKS_OWN = "spark.sql.streaming.noDataMicroBatches.enabled"


@contextmanager
def no_closing_batch(spark, monkeypatch) -> Iterator[None]:
    """What a kill leaves behind the batch with the data and before the one that closes windows."""
    spark.conf.set(SPARKS_OWN, "false")
    try:
        with monkeypatch.context() as killed:
            killed.setattr(no_data_batch, "due", lambda *_: None)
            yield
    finally:
        spark.conf.unset(SPARKS_OWN)


def test_windows_stay_open_by_default_and_the_report_says_how_many_and_until_when(scene):
    made = scene("departure_delays", events=1000, deliveries=1)
    made.deliver_all()
    report = made.run()
    newest = max(
        row["event_time"]
        for row in made.ledger.to_pylist()
        if row["kind"] in {"good", "duplicate"} and row["event_type"] == "departure"
    )
    assert report.state.open > 0
    assert report.open_until == newest.replace(minute=0, second=0, microsecond=0) + timedelta(
        hours=1
    )


def test_a_closing_batch_that_a_crash_kept_from_running_is_the_next_runs_even_without_new_data(
    scene, spark, monkeypatch
):
    made = scene("departure_delays", events=1000, deliveries=1)
    made.deliver_all()
    with no_closing_batch(spark, monkeypatch):
        cut = made.run("cut short")
    assert (cut.batches, cut.account.rows_out) == ((0,), 0)
    assert [check.column for check in cut.failing("warning")] == ["behind_watermark_seconds"]
    assert "no batch has used it yet" in " ".join(plan(made.spec, made.settings).reasons)
    again = made.run("again")
    assert again.account.read == 0 < again.account.rows_out
    made.assert_exact()


def test_a_silent_topic_closes_its_last_windows_and_no_record_is_made_up(scene):
    made = scene("departure_delays", events=1500, deliveries=2, max_offsets_per_batch=300)
    made.deliver()
    edges.send(
        made, edges.OWN, [datetime(2013, 1, 1, tzinfo=UTC)], copies=8
    )  # late, in a third batch or a later one
    made.run("as Spark has it")
    late = replay.late(
        made.ledger, truth.ends(made), ENTERS["departure_delays"], made.spec.watermark_delay
    )
    assert late
    made.change(close_after=timedelta(hours=1), max_offsets_per_batch=None)
    made.change(state_checks_off=tuple(REJECTIONS))  # all that comes now is late, as it must be
    assert "silent for close_after" in " ".join(plan(made.spec, made.settings).reasons)
    closed = made.run("closed")
    assert closed.state.rows == closed.account.read == 0
    assert closed.watermark is not None
    assert (
        timedelta()
        < datetime.now(UTC) - timedelta(hours=3) - closed.watermark
        < timedelta(minutes=10)
    )
    assert made.late() == set(late), "what was late before the silence, and nothing more"
    made.assert_table()
    made.deliver()
    old = made.run("records of years ago")
    entered = (
        old.account.read - old.account.malformed - old.account.premature - old.account.filtered
    )
    assert old.account.late == entered, "event time has moved on to the clock's"
    everybody = {
        (row["partition"], row["offset"])
        for row in made.ledger.to_pylist()
        if row["delivery"] == 2
        and row["kind"] in {"good", "duplicate"}
        and row["event_type"] == "departure"
    }
    assert made.late() == set(late) | everybody
    made.assert_table()


def test_a_record_that_was_promised_to_be_on_time_still_is_after_silence_closed_windows(scene):
    made = scene("departure_delays", events=500, deliveries=1)
    made.change(close_after=timedelta(minutes=30))
    made.deliver_all()
    made.run("closed")
    now = datetime.now(UTC).replace(microsecond=0)
    [record] = [
        row
        for row in made.ledger.to_pylist()
        if row["kind"] == "good" and row["event_type"] == "departure"
    ][:1]
    fields = {name: record[name] for name in made.spec.topic.columns}
    for minutes in (0, 29, 149):  # the watermark stood at most at now less 150 minutes
        at = (now - timedelta(minutes=minutes)).isoformat()
        value = fields | {"event_id": f"now-{minutes}", "event_time": at, "scheduled_time": at}
        made.send(json.dumps(value))
    report = made.run("after")
    assert (report.account.accepted, report.account.late) == (3, 0)
